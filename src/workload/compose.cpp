#include "workload/compose.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/distributions.hpp"
#include "core/result.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/limits.hpp"
#include "workload/prompt_mapper.hpp"
#include "workload/wrapped_stream.hpp"

namespace ridgeline::workload {
namespace {

core::Duration scaled_or_latest(core::Duration time, double speed_up) {
  return scaled_time(time, speed_up).value_or(kLatestArrival);
}

class SpedUp final : public WrappedStream {
 public:
  SpedUp(std::unique_ptr<ItemStream> stream, double speed_up)
      : WrappedStream(std::move(stream)), speed_up_(speed_up), stages_(inner().stages()) {
    for (Stage& stage : stages_) {
      stage.think = scaled_or_latest(stage.think, speed_up);
      stage.pause = scaled_or_latest(stage.pause, speed_up);
    }
  }
  bool next(Item& item) override {
    if (!inner().next(item)) {
      return false;
    }
    item.arrival = scaled_or_latest(item.arrival, speed_up_);
    item.delay = scaled_or_latest(item.delay, speed_up_);
    return true;
  }
  [[nodiscard]] const std::vector<Stage>& stages() const override { return stages_; }
  [[nodiscard]] std::optional<std::int64_t> size() const override { return inner().size(); }

 private:
  double speed_up_;
  std::vector<Stage> stages_;
};

/// Leaves out whole groups.
class Filtered : public WrappedStream {
 public:
  using WrappedStream::WrappedStream;

  bool next(Item& item) final {
    while (inner().next(item)) {
      if (item.starts_group) {
        kept_ = keep(item);
      }
      if (kept_) {
        change(item);
        return true;
      }
    }
    return false;
  }

 protected:
  [[nodiscard]] bool is_timed(const Item& item) const {
    return !inner().stages()[static_cast<std::size_t>(item.stage)].after_previous;
  }
  /// Whether the group of this first item stays.
  virtual bool keep(const Item& item) = 0;
  virtual void change(Item& item) { static_cast<void>(item); }

 private:
  bool kept_ = false;
};

class StartedAt final : public Filtered {
 public:
  StartedAt(std::unique_ptr<ItemStream> stream, core::Duration start)
      : Filtered(std::move(stream)), start_(start) {}

 private:
  bool keep(const Item& item) override { return !is_timed(item) || item.arrival >= start_; }
  void change(Item& item) override {
    if (is_timed(item)) {
      item.arrival = std::max(item.arrival - start_, core::Duration());
    }
  }
  core::Duration start_;
};

class EndedAt final : public Filtered {
 public:
  EndedAt(std::unique_ptr<ItemStream> stream, core::Duration end)
      : Filtered(std::move(stream)), end_(end) {}

 private:
  bool keep(const Item& item) override { return !is_timed(item) || item.arrival < end_; }
  core::Duration end_;
};

class Ramped final : public Filtered {
 public:
  Ramped(std::unique_ptr<ItemStream> stream,
         double from,
         double to,
         core::Duration over,
         std::uint64_t seed)
      : Filtered(std::move(stream)), from_(from), to_(to), over_(over), rng_(seed, 0, "ramp") {}

 private:
  bool keep(const Item& item) override {
    const double part = over_ > core::Duration()
                            ? std::min(item.arrival.to_seconds() / over_.to_seconds(), 1.0)
                            : 1.0;
    return rng_.uniform() < from_ + (to_ - from_) * part;
  }
  double from_;
  double to_;
  core::Duration over_;
  core::RngStream rng_;
};

class Truncated final : public WrappedStream {
 public:
  Truncated(std::unique_ptr<ItemStream> stream, std::int64_t count)
      : WrappedStream(std::move(stream)), count_(count), left_(count) {}

  bool next(Item& item) override {
    if (left_ == 0 || !inner().next(item)) {
      return false;
    }
    --left_;
    return true;
  }
  [[nodiscard]] std::optional<std::int64_t> size() const override {
    const auto all = inner().size();
    return all ? std::optional(std::min(*all, count_)) : std::nullopt;
  }

 private:
  std::int64_t count_;
  std::int64_t left_;
};

class DealtOut final : public WrappedStream {
 public:
  DealtOut(std::unique_ptr<ItemStream> stream, std::int64_t ranks)
      : WrappedStream(std::move(stream)), ranks_(ranks), stages_(inner().stages()) {
    for (Stage& stage : stages_) {
      stage.max_concurrency = (stage.max_concurrency + ranks - 1) / ranks;
    }
  }

  bool next(Item& item) override {
    while (inner().next(item)) {
      if (item.starts_group) {
        const std::int64_t place = item.session >= 0 ? item.session : without_session_++;
        mine_ = place % ranks_ == 0;
      }
      if (mine_) {
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] const std::vector<Stage>& stages() const override { return stages_; }

 private:
  std::int64_t ranks_;
  std::vector<Stage> stages_;
  std::int64_t without_session_ = 0;
  bool mine_ = false;
};

class Shifted final : public WrappedStream {
 public:
  Shifted(std::unique_ptr<ItemStream> stream, core::Duration by)
      : WrappedStream(std::move(stream)), by_(by) {}
  bool next(Item& item) override {
    if (!inner().next(item)) {
      return false;
    }
    item.arrival = by_ > kLatestArrival - item.arrival ? kLatestArrival : item.arrival + by_;
    return true;
  }
  [[nodiscard]] std::optional<std::int64_t> size() const override { return inner().size(); }

 private:
  core::Duration by_;
};

class Limited final : public WrappedStream {
 public:
  Limited(std::unique_ptr<ItemStream> stream, std::int64_t max_concurrency)
      : WrappedStream(std::move(stream)), stages_(inner().stages()) {
    stages_.front().max_concurrency = max_concurrency;
  }
  [[nodiscard]] const std::vector<Stage>& stages() const override { return stages_; }
  [[nodiscard]] bool waits_for_answers() const override { return true; }
  [[nodiscard]] std::optional<std::int64_t> size() const override { return inner().size(); }

 private:
  std::vector<Stage> stages_;
};

/// Streams of one stage without limits, with their groups side by side: what they name is told
/// apart.
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

class Repeated final : public WrappedStream {
 public:
  Repeated(std::unique_ptr<ItemStream> first,
           StreamFactory make,
           std::int64_t times,
           core::Duration period)
      : WrappedStream(std::move(first)),
        make_(std::move(make)),
        left_(times - 1),
        period_(period) {}

  bool next(Item& item) override {
    for (;;) {
      ItemStream& current = again_ ? *again_ : inner();
      if (!errors().empty()) {
        return false;
      }
      if (current.next(item)) {
        item.arrival =
            shift_ > kLatestArrival - item.arrival ? kLatestArrival : item.arrival + shift_;
        return true;
      }
      if (left_ == 0 || period_ > kLatestArrival - shift_ || !errors().empty()) {
        return false;
      }
      auto again = make_();
      if (!again) {
        failed_ = again.error();
        return false;
      }
      --left_;
      shift_ += period_;
      again_ = std::move(*again);
    }
  }
  [[nodiscard]] const core::Errors& errors() const override {
    if (!failed_.empty()) {
      return failed_;
    }
    return again_ ? again_->errors() : inner().errors();
  }
  [[nodiscard]] const Labels& labels() const override {
    return again_ ? again_->labels() : inner().labels();
  }

 private:
  StreamFactory make_;
  std::int64_t left_;
  core::Duration period_;
  core::Duration shift_;
  std::unique_ptr<ItemStream> again_;
  core::Errors failed_;
};

class Resampled final : public WrappedStream {
 public:
  Resampled(ItemList list, std::int64_t count, double rate, std::uint64_t seed)
      : WrappedStream(make_list_stream(list)),
        list_(std::move(list)),
        left_(count),
        mean_gap_(1.0 / rate),
        gaps_(seed, 0, "resample arrivals"),
        choices_(seed, 0, "resample choices") {
    for (std::size_t i = 0; i < list_.items.size(); ++i) {
      if (list_.items[i].starts_group) {
        starts_.push_back(i);
      }
    }
  }

  bool next(Item& item) override {
    if (position_ < list_.items.size() && !list_.items[position_].starts_group) {
      give(item);
      return true;
    }
    const auto gap = core::Duration::from_seconds(core::exponential(gaps_, mean_gap_));
    if (left_ == 0 || starts_.empty() || !gap || *gap > kLatestArrival - start_) {
      left_ = 0;
      position_ = list_.items.size();
      return false;
    }
    --left_;
    start_ += *gap;
    position_ = starts_[choices_.below(starts_.size())];
    own_start_ = list_.items[position_].arrival;
    give(item);
    return true;
  }

 private:
  void give(Item& item) {
    item = list_.items[position_++];
    const core::Duration after = std::max(item.arrival - own_start_, core::Duration());
    item.arrival = after > kLatestArrival - start_ ? kLatestArrival : start_ + after;
    item.stage = 0;
  }

  ItemList list_;
  std::vector<std::size_t> starts_;
  std::size_t position_ = static_cast<std::size_t>(-1);
  std::int64_t left_;
  double mean_gap_;
  core::RngStream gaps_;
  core::RngStream choices_;
  core::Duration start_;
  core::Duration own_start_;
};

/// A stream whose groups start at times of their own, and nothing else.
bool is_plain(const ItemStream& stream) {
  return stream.stages().size() == 1 && stream.stages().front() == Stage{};
}

core::Error not_plain(std::string_view what) {
  return {.field = "workload",
          .message = fmt::format("a workload with stages or a limit of concurrency cannot be {}, "
                                 "expected requests that come at times of their own",
                                 what)};
}

}  // namespace

std::optional<core::Duration> scaled_time(core::Duration time, double speed_up) {
  return speed_up == 1.0 ? std::optional(time)
                         : core::Duration::from_seconds(time.to_seconds() / speed_up);
}

std::unique_ptr<ItemStream> sped_up(std::unique_ptr<ItemStream> stream, double speed_up) {
  return std::make_unique<SpedUp>(std::move(stream), speed_up);
}
std::unique_ptr<ItemStream> started_at(std::unique_ptr<ItemStream> stream, core::Duration start) {
  return std::make_unique<StartedAt>(std::move(stream), start);
}
std::unique_ptr<ItemStream> ended_at(std::unique_ptr<ItemStream> stream, core::Duration end) {
  return std::make_unique<EndedAt>(std::move(stream), end);
}
std::unique_ptr<ItemStream> truncated(std::unique_ptr<ItemStream> stream, std::int64_t count) {
  return std::make_unique<Truncated>(std::move(stream), count);
}
std::unique_ptr<ItemStream> dealt_out(std::unique_ptr<ItemStream> stream, std::int64_t ranks) {
  return std::make_unique<DealtOut>(std::move(stream), ranks);
}
std::unique_ptr<ItemStream> shifted(std::unique_ptr<ItemStream> stream, core::Duration by) {
  return std::make_unique<Shifted>(std::move(stream), by);
}
std::unique_ptr<ItemStream> ramped(std::unique_ptr<ItemStream> stream,
                                   double from,
                                   double to,
                                   core::Duration over,
                                   std::uint64_t seed) {
  return std::make_unique<Ramped>(std::move(stream), from, to, over, seed);
}

std::unique_ptr<ItemStream> limited(std::unique_ptr<ItemStream> stream,
                                    std::int64_t max_concurrency) {
  return std::make_unique<Limited>(std::move(stream), max_concurrency);
}

core::Result<std::unique_ptr<ItemStream>> repeated(const StreamFactory& make,
                                                   std::int64_t times,
                                                   core::Duration period) {
  auto first = make();
  if (!first) {
    return first;
  }
  if (!is_plain(**first)) {
    return core::fail(not_plain("repeated"));
  }
  return std::make_unique<Repeated>(std::move(*first), make, times, period);
}

std::unique_ptr<ItemStream> resampled(ItemList list,
                                      std::int64_t count,
                                      double rate,
                                      std::uint64_t seed) {
  list.stages = {Stage{}};
  for (Item& item : list.items) {
    item.stage = 0;
  }
  return std::make_unique<Resampled>(std::move(list), count, rate, seed);
}

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
