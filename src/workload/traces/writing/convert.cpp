#include "workload/traces/writing/convert.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/replay.hpp"
#include "workload/traces/format.hpp"
#include "workload/wrapped_stream.hpp"

namespace ridgeline::workload {
namespace {

struct Kind {
  std::string_view name;
  Field field;
  bool (*holds)(const Item& item);
};

/// What an item may say beyond lengths.
constexpr auto kItemKinds = std::to_array<Kind>({
    {"what prompts share", Field::kPrefix, [](const Item& item) { return !item.prompt.empty(); }},
    {"session", Field::kSession, [](const Item& item) { return item.session >= 0; }},
    {"priority", Field::kPriority, [](const Item& item) { return item.priority != 0; }},
    {"slo_class", Field::kSloClass, [](const Item& item) { return item.slo_class >= 0; }},
    {"tenant", Field::kTenant, [](const Item& item) { return item.tenant >= 0; }},
    {"model", Field::kModel, [](const Item& item) { return item.model >= 0; }},
    {"adapter", Field::kAdapter, [](const Item& item) { return item.adapter >= 0; }},
    {"reasoning tokens",
     Field::kReasoning,
     [](const Item& item) { return item.reasoning_tokens.value() > 0; }},
    {"images, audio or video",
     Field::kModalities,
     [](const Item& item) {
       return item.audios > 0 || item.videos > 0 || item.image_tokens.value() > 0 ||
              item.audio_tokens.value() > 0 || item.video_tokens.value() > 0;
     }},
    {"number of images", Field::kImages, [](const Item& item) { return item.images > 0; }},
    {"cancelled by the client",
     Field::kPatience,
     [](const Item& item) { return item.patience != Item::kEndless; }},
    {"arrival time",
     Field::kArrival,
     [](const Item& item) { return item.arrival > core::Duration(); }},
});

/// Counts, as the items pass, what a writer of these fields has no room for.
class LossCounter final : public WrappedStream {
 public:
  LossCounter(std::unique_ptr<ItemStream> stream, Fields carries)
      : WrappedStream(std::move(stream)), carries_(carries) {}

  bool next(Item& item) override {
    if (!inner().next(item)) {
      return false;
    }
    for (std::size_t i = 0; i < kItemKinds.size(); ++i) {
      // Images are a part of all modalities.
      const Field field = kItemKinds[i].field;
      const bool carried =
          has(carries_, field) || (field == Field::kImages && has(carries_, Field::kModalities));
      counts_[i] += !carried && kItemKinds[i].holds(item) ? 1 : 0;
    }
    waiting_ += item.parents.empty() ? 0 : 1;
    return true;
  }

  [[nodiscard]] std::vector<std::string> lost(bool flattened) const {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < kItemKinds.size(); ++i) {
      if (counts_[i] > 0) {
        texts.push_back(fmt::format(
            "{} ({} {})", kItemKinds[i].name, counts_[i], core::plural("request", counts_[i])));
      }
    }
    if (flattened && waiting_ > 0) {
      texts.push_back(
          fmt::format("waiting for answers ({} {})", waiting_, core::plural("request", waiting_)));
    }
    const auto& all = stages();
    if (!has(carries_, Field::kStages) && (all.size() > 1 || all.front() != Stage{})) {
      texts.push_back(fmt::format("limits of concurrency and stages ({})", all.size()));
    }
    return texts;
  }

 private:
  Fields carries_;
  std::array<std::int64_t, kItemKinds.size()> counts_{};
  std::int64_t waiting_ = 0;
};

/// Whether every item that waits does so for the turn before it in its session, and nothing else.
bool are_session_chains(const ItemList& list) {
  std::map<std::int32_t, std::uint32_t> last_turns;
  std::uint32_t place = 0;
  for (const Item& item : list.items) {
    if (item.starts_group) {
      last_turns.clear();
      place = 0;
    }
    const auto last = last_turns.find(item.session);
    const bool follows = item.session >= 0 && item.parents.size() == 1 &&
                         last != last_turns.end() && last->second == item.parents.front();
    if (!item.parents.empty() && !follows) {
      return false;
    }
    last_turns[item.session] = place++;
  }
  return true;
}

}  // namespace

core::Result<Conversion> convert(std::unique_ptr<ItemStream> stream,
                                 const TraceFormat& format,
                                 std::ostream& out) {
  if (format.make_writer == nullptr) {
    std::vector<std::string> names;
    for (const TraceFormat* known : trace_formats()) {
      if (known->make_writer != nullptr) {
        names.emplace_back(known->name);
      }
    }
    return core::fail(
        core::Error{.field = "--to",
                    .message = fmt::format("{} can be read but not written, expected one of {}",
                                           format.name,
                                           fmt::join(names, ", "))});
  }
  if (stream->is_endless()) {
    return core::fail(core::Error{
        .field = "num_requests",
        .message = "missing, expected it beside concurrency: how many requests come before the "
                   "horizon depends on how long answers take, which only a run says"});
  }
  const bool keeps_groups =
      has(format.carries, Field::kDependency) || has(format.carries, Field::kSessionChain);
  const bool stages_fit = has(format.carries, Field::kStages) ||
                          (stream->stages().size() == 1 && stream->stages().front() == Stage{});
  bool flatten = !keeps_groups || !stages_fit;
  if (!flatten && !has(format.carries, Field::kDependency) && stream->waits_for_answers()) {
    // Whether they are chains shows at the end alone.
    auto list = read_all(*stream);
    if (!list) {
      return core::fail(std::move(list.error()));
    }
    flatten = !are_session_chains(*list);
    stream = make_list_stream(std::move(*list));
  }
  auto counter = std::make_unique<LossCounter>(std::move(stream), format.carries);
  const LossCounter& losses = *counter;
  std::unique_ptr<ItemStream> source = std::move(counter);
  if (flatten) {
    source = flattened(std::move(source));
  }
  const auto writer = format.make_writer();
  writer->begin(out, *source);
  Conversion done;
  Item item;
  while (source->next(item)) {
    writer->write(out, item);
    ++done.requests;
  }
  if (!source->errors().empty()) {
    return core::fail(source->errors());
  }
  writer->end(out);
  done.lost = losses.lost(flatten);
  done.warnings = source->warnings();
  for (auto& warning : writer->warnings()) {
    done.warnings.push_back(std::move(warning));
  }
  return done;
}

}  // namespace ridgeline::workload
