#include "workload/merge.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/distributions.hpp"
#include "core/result.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "workload/compose.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/limits.hpp"
#include "workload/prompt_mapper.hpp"

namespace ridgeline::workload {
namespace {

/// Streams of one stage without limits, with their groups side by side: contents, sessions and
/// labels of two streams stay distinct.
class Strands {
 public:
  explicit Strands(std::vector<std::unique_ptr<ItemStream>> streams)
      : streams_(std::move(streams)), next_(streams_.size()), mappers_(streams_.size()) {
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      waits_ = waits_ || streams_[i]->waits_for_answers();
      flat_ = flat_ && streams_[i]->is_flat();
      has_next_.push_back(streams_[i]->next(next_[i]));
    }
  }

  [[nodiscard]] std::size_t size() const { return streams_.size(); }
  [[nodiscard]] bool has_next(std::size_t strand) const { return has_next_[strand]; }
  [[nodiscard]] const Item& peek(std::size_t strand) const { return next_[strand]; }

  void pop(std::size_t strand, Item& item) {
    item = std::move(next_[strand]);
    has_next_[strand] = streams_[strand]->next(next_[strand]);
    mappers_[strand].apply(item.prompt, [strand](std::uint64_t content) -> PromptMapper::Name {
      return {.content = is_output(content) ? content : content_of(strand, content)};
    });
    for (std::int32_t* const label : {&item.slo_class, &item.tenant, &item.model, &item.adapter}) {
      *label = *label < 0 ? -1 : labels_.intern(streams_[strand]->labels().name(*label));
    }
    if (item.session >= 0) {
      const std::pair<std::size_t, std::int32_t> key(strand, item.session);
      const auto number = static_cast<std::int32_t>(sessions_.size());
      item.session = sessions_.try_emplace(key, number).first->second;
    }
  }

  [[nodiscard]] const core::Errors& errors() const {
    for (const auto& stream : streams_) {
      if (!stream->errors().empty()) {
        return stream->errors();
      }
    }
    return streams_.front()->errors();
  }
  [[nodiscard]] core::Warnings warnings() const {
    core::Warnings all;
    for (const auto& stream : streams_) {
      const auto some = stream->warnings();
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
  /// The mean of all, where each tells.
  [[nodiscard]] std::optional<double> share_read() const {
    double sum = 0.0;
    for (const auto& stream : streams_) {
      const auto share = stream->share_read();
      if (!share) {
        return std::nullopt;
      }
      sum += *share;
    }
    return sum / static_cast<double>(streams_.size());
  }
  [[nodiscard]] const Labels& labels() const { return labels_; }
  [[nodiscard]] bool waits_for_answers() const { return waits_; }
  [[nodiscard]] bool is_flat() const { return flat_; }

 private:
  std::vector<std::unique_ptr<ItemStream>> streams_;
  std::vector<Item> next_;
  std::vector<PromptMapper> mappers_;
  std::vector<bool> has_next_;
  Labels labels_;
  std::map<std::pair<std::size_t, std::int32_t>, std::int32_t> sessions_;
  bool waits_ = false;
  bool flat_ = true;
};

class StrandStream : public ItemStream {
 public:
  explicit StrandStream(std::vector<std::unique_ptr<ItemStream>> streams)
      : strands_(std::move(streams)) {}
  [[nodiscard]] const core::Errors& errors() const override { return strands_.errors(); }
  [[nodiscard]] core::Warnings warnings() const override { return strands_.warnings(); }
  [[nodiscard]] std::optional<double> share_read() const override { return strands_.share_read(); }
  [[nodiscard]] const Labels& labels() const override { return strands_.labels(); }
  [[nodiscard]] bool waits_for_answers() const override { return strands_.waits_for_answers(); }
  [[nodiscard]] bool is_flat() const override { return strands_.is_flat(); }

 protected:
  /// Whether the group that was begun last goes on; then `item` is its next one.
  bool go_on(Item& item) {
    if (!begun_ || !strands_.has_next(*begun_) || strands_.peek(*begun_).starts_group) {
      return false;
    }
    strands_.pop(*begun_, item);
    return true;
  }
  void begin(std::size_t strand, Item& item) {
    begun_ = strand;
    strands_.pop(strand, item);
  }
  [[nodiscard]] const Strands& strands() const { return strands_; }

 private:
  Strands strands_;
  std::optional<std::size_t> begun_;
};

class Superposed final : public StrandStream {
 public:
  using StrandStream::StrandStream;
  bool next(Item& item) override {
    if (go_on(item)) {
      return true;
    }
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < strands().size(); ++i) {
      if (strands().has_next(i) &&
          (!first || strands().peek(i).arrival < strands().peek(*first).arrival)) {
        first = i;
      }
    }
    if (!first || !errors().empty()) {
      return false;
    }
    begin(*first, item);
    return true;
  }
};

class Mixed final : public StrandStream {
 public:
  Mixed(std::vector<std::unique_ptr<ItemStream>> streams,
        core::AliasTable weights,
        double rate,
        std::int64_t count,
        std::uint64_t seed)
      : StrandStream(std::move(streams)),
        weights_(std::move(weights)),
        mean_gap_(1.0 / rate),
        left_(count),
        gaps_(seed, 0, "mix arrivals"),
        choices_(seed, 0, "mix choices") {}

  bool next(Item& item) override {
    if (go_on(item)) {
      move(item);
      return true;
    }
    if (left_ == 0 || !errors().empty()) {
      return false;
    }
    const auto gap = core::Duration::from_seconds(core::exponential(gaps_, mean_gap_));
    const std::size_t part = weights_.draw(choices_);
    if (!gap || *gap > kLatestArrival - start_ || !strands().has_next(part)) {
      left_ = 0;
      return false;
    }
    --left_;
    start_ += *gap;
    begin(part, item);
    own_start_ = item.arrival;
    move(item);
    return true;
  }

 private:
  void move(Item& item) const {
    const core::Duration after = std::max(item.arrival - own_start_, core::Duration());
    item.arrival = after > kLatestArrival - start_ ? kLatestArrival : start_ + after;
  }

  core::AliasTable weights_;
  double mean_gap_;
  std::int64_t left_;
  core::RngStream gaps_;
  core::RngStream choices_;
  core::Duration start_;
  core::Duration own_start_;
};

}  // namespace

core::Result<std::unique_ptr<ItemStream>> superposed(
    std::vector<std::unique_ptr<ItemStream>> streams) {
  RIDGELINE_CHECK(!streams.empty(), "no streams to merge");
  for (const auto& stream : streams) {
    if (!is_plain(*stream)) {
      return core::fail(not_plain("merged with others"));
    }
  }
  return std::make_unique<Superposed>(std::move(streams));
}

core::Result<std::unique_ptr<ItemStream>> mixed(std::vector<MixPart> parts,
                                                double rate,
                                                std::int64_t count,
                                                std::uint64_t seed) {
  std::vector<std::unique_ptr<ItemStream>> streams;
  std::vector<double> weights;
  for (MixPart& part : parts) {
    if (!is_plain(*part.stream)) {
      return core::fail(not_plain("mixed with others"));
    }
    weights.push_back(part.weight);
    streams.push_back(std::move(part.stream));
  }
  auto table = core::AliasTable::make(weights);
  if (!table) {
    return core::fail(std::move(table.error()));
  }
  return std::make_unique<Mixed>(std::move(streams), std::move(*table), rate, count, seed);
}

}  // namespace ridgeline::workload
