#include "workload/compose.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/distributions.hpp"
#include "core/result.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/limits.hpp"
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
      if (stage.end) {
        stage.end = scaled_or_latest(*stage.end, speed_up);
      }
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

/// Leaves out whole groups, more or fewer of them as time goes on.
class Ramped final : public WrappedStream {
 public:
  Ramped(std::unique_ptr<ItemStream> stream,
         double from,
         double to,
         core::Duration over,
         std::uint64_t seed)
      : WrappedStream(std::move(stream)),
        from_(from),
        to_(to),
        over_(over),
        rng_(seed, 0, "ramp") {}

  bool next(Item& item) override {
    while (inner().next(item)) {
      if (item.starts_group) {
        kept_ = keep(item);
      }
      if (kept_) {
        return true;
      }
    }
    return false;
  }

 private:
  /// Whether the group of this first item stays.
  bool keep(const Item& item) {
    const double part = over_ > core::Duration()
                            ? std::min(item.arrival.to_seconds() / over_.to_seconds(), 1.0)
                            : 1.0;
    return rng_.uniform() < from_ + (to_ - from_) * part;
  }
  double from_;
  double to_;
  core::Duration over_;
  core::RngStream rng_;
  bool kept_ = false;
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
  [[nodiscard]] bool is_endless() const override { return false; }
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
      ++of_others_;
    }
    return false;
  }
  [[nodiscard]] const std::vector<Stage>& stages() const override { return stages_; }
  [[nodiscard]] std::int64_t of_other_ranks() const override { return of_others_; }

 private:
  std::int64_t ranks_;
  std::int64_t of_others_ = 0;
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

class SentBefore final : public WrappedStream {
 public:
  SentBefore(std::unique_ptr<ItemStream> stream, core::Duration end)
      : WrappedStream(std::move(stream)), stages_(inner().stages()), end_(end) {
    for (Stage& stage : stages_) {
      if (stage.max_concurrency > 0) {
        stage.end = std::min(stage.end.value_or(end), end);
      }
    }
  }
  [[nodiscard]] const std::vector<Stage>& stages() const override { return stages_; }
  [[nodiscard]] std::optional<core::Duration> sends_before() const override { return end_; }
  [[nodiscard]] std::optional<std::int64_t> size() const override {
    return is_flat() ? inner().size() : std::nullopt;
  }

 private:
  std::vector<Stage> stages_;
  core::Duration end_;
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

}  // namespace

bool is_plain(const ItemStream& stream) {
  return stream.stages().size() == 1 && stream.stages().front() == Stage{};
}

core::Error not_plain(std::string_view what) {
  return {.field = "workload",
          .message = fmt::format("a workload with stages or a limit of concurrency cannot be {}, "
                                 "expected requests that come at times of their own",
                                 what)};
}

std::optional<core::Duration> scaled_time(core::Duration time, double speed_up) {
  return speed_up == 1.0 ? std::optional(time)
                         : core::Duration::from_seconds(time.to_seconds() / speed_up);
}

std::unique_ptr<ItemStream> sped_up(std::unique_ptr<ItemStream> stream, double speed_up) {
  return std::make_unique<SpedUp>(std::move(stream), speed_up);
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

std::unique_ptr<ItemStream> sent_before(std::unique_ptr<ItemStream> stream, core::Duration end) {
  return std::make_unique<SentBefore>(std::move(stream), end);
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

}  // namespace ridgeline::workload
