#include "workload/trace_part.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/wrapped_stream.hpp"

namespace ridgeline::workload {
namespace {

/// As many names as an error lists.
constexpr std::size_t kMostNames = 20;

/// Groups whose label is one of some names.
class LabelFilter {
 public:
  LabelFilter(std::string setting, std::vector<std::string> wanted)
      : setting_(std::move(setting)), wanted_(std::move(wanted)), missing_(wanted_) {}

  bool keeps(std::int32_t label, const Labels& labels) {
    if (wanted_.empty()) {
      return true;
    }
    const std::string name = label < 0 ? std::string() : labels.name(label);
    if (seen_.size() < kMostNames && label >= 0) {
      seen_.insert(name);
    }
    const bool kept = label >= 0 && std::ranges::find(wanted_, name) != wanted_.end();
    if (kept) {
      std::erase(missing_, name);
    }
    return kept;
  }
  /// Appends which of the names the trace does not have, if any: one that is misspelt would only
  /// make the part smaller.
  void explain(core::Errors& errors) const {
    if (missing_.empty()) {
      return;
    }
    errors.push_back(
        {.field = setting_,
         .message = fmt::format("the trace has no request of {}",
                                core::quote(fmt::format("{}", fmt::join(missing_, ",")))),
         .hint =
             seen_.empty() ? "it names none" : fmt::format("it has: {}", fmt::join(seen_, ", "))});
  }

 private:
  std::string setting_;
  std::vector<std::string> wanted_;
  std::vector<std::string> missing_;  ///< Wanted names that no group has had yet.
  std::set<std::string> seen_;
};

class PartStream final : public WrappedStream {
 public:
  PartStream(std::unique_ptr<ItemStream> stream, TracePart part)
      : WrappedStream(std::move(stream)),
        part_(std::move(part)),
        tenants_("workload.trace_tenant", part_.tenants),
        models_("workload.trace_model", part_.models) {}

  bool next(Item& item) override {
    while (inner().next(item)) {
      const bool is_timed = !inner().stages()[static_cast<std::size_t>(item.stage)].after_previous;
      if (item.starts_group) {
        kept_ = keeps(item, is_timed);
      }
      if (kept_) {
        if (is_timed) {
          item.arrival = std::max(item.arrival - part_.start, core::Duration());
        }
        any_ = true;
        return true;
      }
    }
    if (inner().errors().empty() && nothing_left_.empty()) {
      explain();
    }
    return false;
  }
  [[nodiscard]] const core::Errors& errors() const override {
    return nothing_left_.empty() ? inner().errors() : nothing_left_;
  }

 private:
  bool keeps(const Item& item, bool is_timed) {
    last_ = std::max(last_, item.arrival);
    const bool of_tenant = tenants_.keeps(item.tenant, inner().labels());
    const bool of_model = models_.keeps(item.model, inner().labels());
    const bool in_time =
        !is_timed || (item.arrival >= part_.start && (!part_.end || item.arrival < *part_.end));
    return of_tenant && of_model && in_time;
  }
  void explain() {
    tenants_.explain(nothing_left_);
    models_.explain(nothing_left_);
    if (any_ || !nothing_left_.empty()) {
      return;
    }
    const bool too_late = part_.start > last_;
    nothing_left_.push_back(
        {.field = too_late || !part_.end ? part_.start_setting : part_.end_setting,
         .message = too_late
                        ? fmt::format("{} s is out of range, expected 0 s to the last arrival at "
                                      "{} s",
                                      seconds_text(part_.start),
                                      seconds_text(last_))
                        : fmt::format("no request is left from {} s to {} s",
                                      seconds_text(part_.start),
                                      seconds_text(part_.end.value_or(last_))),
         .where = part_.where});
  }

  TracePart part_;
  LabelFilter tenants_;
  LabelFilter models_;
  core::Duration last_;
  bool kept_ = false;
  bool any_ = false;
  core::Errors nothing_left_;
};

}  // namespace

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, text.find(','));
    const std::size_t first = piece.find_first_not_of(' ');
    if (first != std::string_view::npos) {
      names.emplace_back(piece.substr(first, piece.find_last_not_of(' ') - first + 1));
    }
    text.remove_prefix(std::min(piece.size() + 1, text.size()));
  }
  return names;
}

std::unique_ptr<ItemStream> part_of(std::unique_ptr<ItemStream> stream, TracePart part) {
  return part.is_whole() ? std::move(stream)
                         : std::make_unique<PartStream>(std::move(stream), std::move(part));
}

}  // namespace ridgeline::workload
