#include "workload/trace_stats.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/statistics/moments.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/chain.hpp"
#include "domain/request.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/length_counts.hpp"
#include "workload/replay.hpp"
#include "workload/reuse.hpp"
#include "workload/wrapped_stream.hpp"

namespace ridgeline::workload {
namespace {

/// Counts what is lost when a stream is flattened.
class WaitCounter final : public WrappedStream {
 public:
  WaitCounter(std::unique_ptr<ItemStream> stream, std::int64_t& waiting)
      : WrappedStream(std::move(stream)), waiting_(waiting) {}
  bool next(Item& item) override {
    if (!inner().next(item)) {
      return false;
    }
    waiting_ += item.parents.empty() ? 0 : 1;
    return true;
  }

 private:
  std::int64_t& waiting_;
};

class BlockCounter {
 public:
  /// `counts_parts`: a last block that is not full counts, as in traces that name their blocks. An
  /// engine keeps full ones alone.
  BlockCounter(core::Tokens block, bool counts_parts, bool answers_return)
      : block_(block),
        counts_parts_(counts_parts),
        answers_return_(answers_return),
        distances_(block) {}

  void add(const Item& item, std::uint32_t id) {
    const std::int64_t prompt = counted(item.input_tokens);
    const std::int64_t blocks = (prompt + block_.value() - 1) / block_.value();
    blocks_ += blocks;
    const bool named = !item.prompt.empty() || answers_return_;
    if (!named && !any_named_) {
      nameless_ += blocks;  // Before the first name there is nothing to push out of a cache.
      return;
    }
    any_named_ = any_named_ || named;
    if (!named) {
      distances_.use_nameless(blocks);
      return;
    }
    const core::RequestId own(id);
    chain_.assign(item.prompt,
                  item.input_tokens,
                  core::LoraId(),
                  domain::unique_content(own),
                  domain::output_content(own));
    distances_.for_each_repeat(chain_, prompt, [this](std::int64_t distance, std::int64_t count) {
      count_hits(distance, count);
    });
    // All tokens from the end: the first block of a prompt is the last to be thrown out, so that
    // what a cache holds of a prompt is always its beginning.
    const core::Tokens answer = answers_return_ ? item.output_tokens : core::Tokens(0);
    distances_.use(chain_, counted(item.input_tokens + answer));
  }

  [[nodiscard]] BlockReuse result() const {
    BlockReuse reuse;
    reuse.block_tokens = block_.value();
    reuse.blocks = blocks_;
    reuse.repeated = repeated_;
    reuse.working_set = distances_.distinct() + nameless_;
    if (!any_named_ || blocks_ == 0) {
      return reuse;
    }
    reuse.ideal = static_cast<double>(repeated_) / static_cast<double>(blocks_);
    std::int64_t hits = 0;
    for (std::size_t i = 0; i < hits_by_size_.size(); ++i) {
      hits += hits_by_size_[i];
      const std::int64_t size = std::int64_t{1} << i;
      reuse.by_cache_size.push_back(
          {.blocks = size,
           .tokens = size * block_.value(),
           .hit_rate = static_cast<double>(hits) / static_cast<double>(blocks_)});
      if (size >= reuse.working_set) {
        break;
      }
    }
    return reuse;
  }

 private:
  /// Blocks with distances that count up from `distance`: a cache of a block more still holds one.
  void count_hits(std::int64_t distance, std::int64_t count) {
    repeated_ += count;
    while (count > 0) {
      // Distances with as many bits need a cache of the same power of two.
      const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(distance)));
      const std::int64_t some = std::min(count, (std::int64_t{1} << bits) - distance);
      hits_by_size_[static_cast<std::size_t>(bits)] += some;
      distance += some;
      count -= some;
    }
  }

  [[nodiscard]] std::int64_t counted(core::Tokens tokens) const {
    return tokens.value() - (counts_parts_ ? 0 : tokens.value() % block_.value());
  }

  core::Tokens block_;
  bool counts_parts_;
  bool answers_return_;
  bool any_named_ = false;
  std::int64_t blocks_ = 0;
  std::int64_t repeated_ = 0;
  std::int64_t nameless_ = 0;
  ReuseDistances distances_;
  std::array<std::int64_t, 48> hits_by_size_{};
  domain::Chain chain_;
};

TokenSpread spread_of(const LengthCounts& lengths) {
  return {.mean = lengths.moments().mean(),
          .std = lengths.moments().std_dev(),
          .p50 = lengths.quantile(0.5),
          .p90 = lengths.quantile(0.9),
          .p99 = lengths.quantile(0.99),
          .max = static_cast<double>(lengths.moments().max())};
}

/// Pearson's correlation of pairs.
class Correlation {
 public:
  void add(double x, double y) {
    // Welford's recurrences, which do not cancel.
    ++count_;
    const double dx = x - mean_x_;
    mean_x_ += dx / count_;
    mean_y_ += (y - mean_y_) / count_;
    xx_ += dx * (x - mean_x_);
    xy_ += dx * (y - mean_y_);
    const double dy = y - old_mean_y_;
    yy_ += dy * (y - mean_y_);
    old_mean_y_ = mean_y_;
  }
  [[nodiscard]] std::optional<double> value() const {
    return xx_ > 0.0 && yy_ > 0.0 ? std::optional(xy_ / std::sqrt(xx_ * yy_)) : std::nullopt;
  }

 private:
  double count_ = 0.0;
  double mean_x_ = 0.0;
  double mean_y_ = 0.0;
  double old_mean_y_ = 0.0;
  double xx_ = 0.0;
  double yy_ = 0.0;
  double xy_ = 0.0;
};

/// Counts in windows whose width doubles whenever there would be too many of them.
class Windows {
 public:
  void add(const Item& item) {
    auto index = static_cast<std::size_t>(item.arrival.count() / width_.count());
    while (index >= kMostWindows) {
      halve();
      index = static_cast<std::size_t>(item.arrival.count() / width_.count());
    }
    if (index >= windows_.size()) {
      windows_.resize(index + 1);
    }
    ++windows_[index].requests;
    windows_[index].input_tokens += item.input_tokens.value();
    windows_[index].output_tokens += item.output_tokens.value();
  }
  [[nodiscard]] core::Duration width() const { return width_; }
  [[nodiscard]] std::vector<TraceWindow> take() {
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      windows_[i].start_s = static_cast<double>(i) * width_.to_seconds();
    }
    return std::move(windows_);
  }

 private:
  static constexpr std::size_t kMostWindows = 120;

  void halve() {
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      const TraceWindow window = std::exchange(windows_[i], {});
      windows_[i / 2].requests += window.requests;
      windows_[i / 2].input_tokens += window.input_tokens;
      windows_[i / 2].output_tokens += window.output_tokens;
    }
    windows_.resize((windows_.size() + 1) / 2);
    width_ = width_ * 2;
  }

  core::Duration width_ = core::Duration::seconds(1);
  std::vector<TraceWindow> windows_;
};

class LabelCounter {
 public:
  void add(std::int32_t label) {
    if (label >= 0) {
      ++counts_[label];
    }
  }
  [[nodiscard]] std::vector<LabelCount> result(const Labels& labels) const {
    std::vector<LabelCount> list;
    for (const auto& [label, requests] : counts_) {
      list.push_back({.name = labels.name(label), .requests = requests});
    }
    std::ranges::stable_sort(list, std::greater<>(), &LabelCount::requests);
    return list;
  }

 private:
  std::map<std::int32_t, std::int64_t> counts_;
};

class Describer {
 public:
  explicit Describer(BlockCounter blocks) : blocks_(std::move(blocks)) {}

  void add(const Item& item) {
    const std::int64_t arrival = item.arrival.count();
    if (stats_.requests == 0) {
      first_ = arrival;
    } else {
      gaps_.add(arrival - last_);
    }
    last_ = arrival;
    blocks_.add(item, static_cast<std::uint32_t>(stats_.requests++));
    windows_.add(item);
    input_.add(item.input_tokens.value());
    output_.add(item.output_tokens.value());
    correlation_.add(static_cast<double>(item.input_tokens.value()),
                     static_cast<double>(item.output_tokens.value()));
    if (item.session >= 0) {
      const auto session = static_cast<std::size_t>(item.session);
      if (session >= sessions_.size()) {
        sessions_.resize(std::max(session + 1, 2 * sessions_.size()));
      }
      if (!sessions_[session]) {
        first_session_ = stats_.sessions++ == 0 ? arrival : first_session_;
        last_session_ = arrival;
      }
      sessions_[session] = true;
      ++turns_;
    }
    stats_.total_input_tokens += item.input_tokens.value();
    stats_.total_output_tokens += item.output_tokens.value();
    stats_.images += item.images;
    models_.add(item.model);
    tenants_.add(item.tenant);
    slo_classes_.add(item.slo_class);
  }

  TraceStats result(const Labels& labels) {
    stats_.duration_s = core::Duration::ticks(last_ - first_).to_seconds();
    if (stats_.duration_s > 0.0) {
      stats_.request_rate = static_cast<double>(stats_.requests) / stats_.duration_s;
    }
    if (gaps_.count() > 1 && gaps_.sum() > 0) {
      stats_.gap_cv = gaps_.std_dev() / gaps_.mean();
      // Times are rounded: gaps that vary by less are those of a constant rate.
      constexpr double kSteady = 0.01;
      if (*stats_.gap_cv >= kSteady) {
        stats_.burstiness = 1.0 / (*stats_.gap_cv * *stats_.gap_cv);
      }
    }
    stats_.input_tokens = spread_of(input_);
    stats_.output_tokens = spread_of(output_);
    stats_.length_correlation = correlation_.value();
    if (stats_.sessions > 0) {
      stats_.turns_per_session = static_cast<double>(turns_) / static_cast<double>(stats_.sessions);
      const double starting = core::Duration::ticks(last_session_ - first_session_).to_seconds();
      if (starting > 0.0) {
        stats_.session_rate = static_cast<double>(stats_.sessions) / starting;
      }
    }
    stats_.models = models_.result(labels);
    stats_.tenants = tenants_.result(labels);
    stats_.slo_classes = slo_classes_.result(labels);
    stats_.reuse = blocks_.result();
    const core::Duration width = windows_.width();
    stats_.windows = windows_.take();
    stats_.peak_rate = peak_rate(stats_.windows, width);
    return std::move(stats_);
  }

 private:
  /// Requests over time of the busiest window. What a window has before the first arrival or after
  /// the last is not counted as its time; one cut so is taken together with its neighbour, and none
  /// is shorter than `width` unless the trace is: the mean over all windows is the request rate, so
  /// the peak is not below it.
  [[nodiscard]] std::optional<double> peak_rate(const std::vector<TraceWindow>& windows,
                                                core::Duration width) const {
    struct Stretch {
      std::int64_t requests = 0;
      core::Duration time;
    };
    std::vector<Stretch> stretches;
    Stretch open;
    for (std::size_t i = 0; i < windows.size(); ++i) {
      const std::int64_t start = static_cast<std::int64_t>(i) * width.count();
      const std::int64_t from = std::max(start, first_);
      const std::int64_t to = std::min(start + width.count(), last_);
      open.requests += windows[i].requests;
      open.time += core::Duration::ticks(std::max<std::int64_t>(to - from, 0));
      if (open.time >= width) {
        stretches.push_back(std::exchange(open, {}));
      }
    }
    if (stretches.empty()) {
      stretches.push_back(open);
    } else {
      stretches.back().requests += open.requests;
      stretches.back().time += open.time;
    }
    std::optional<double> peak;
    for (const Stretch& stretch : stretches) {
      if (stretch.time > core::Duration()) {
        const double rate = static_cast<double>(stretch.requests) / stretch.time.to_seconds();
        peak = std::max(peak.value_or(0.0), rate);
      }
    }
    return peak;
  }

  TraceStats stats_;
  BlockCounter blocks_;
  Windows windows_;
  statistics::Moments gaps_;
  Correlation correlation_;
  LengthCounts input_;
  LengthCounts output_;
  std::vector<bool> sessions_;  ///< By number: whether a request of it has come.
  LabelCounter models_;
  LabelCounter tenants_;
  LabelCounter slo_classes_;
  std::int64_t turns_ = 0;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
  std::int64_t first_session_ = 0;
  std::int64_t last_session_ = 0;
};

}  // namespace

core::Result<TraceStats> describe_trace(std::unique_ptr<ItemStream> stream,
                                        std::string format,
                                        core::Tokens block) {
  if (block.value() == 0) {
    block = stream->block_tokens().value() > 0 ? stream->block_tokens() : kDefaultStatsBlock;
  }
  const bool counts_parts = block == stream->block_tokens();
  const bool waits = stream->waits_for_answers();
  const bool answers_return = !stream->is_flat();
  std::int64_t waiting = 0;
  const auto flat = flattened(std::make_unique<WaitCounter>(std::move(stream), waiting));
  Describer describer(BlockCounter(block, counts_parts, answers_return));
  Item item;
  std::int64_t requests = 0;
  while (flat->next(item)) {
    describer.add(item);
    ++requests;
  }
  if (!flat->errors().empty()) {
    return core::fail(flat->errors());
  }
  if (requests == 0) {
    return core::fail(core::ErrorCode::kUsage, "the workload holds no request");
  }
  TraceStats stats = describer.result(flat->labels());
  stats.format = std::move(format);
  stats.waiting = waiting;
  stats.warnings = flat->warnings();
  if (waits) {
    stats.warnings.push_back(
        {.code = "W-answers-take-no-time",
         .message = "requests wait for answers, which take no time here: in a run they come later, "
                    "and rates are lower"});
  }
  return stats;
}

}  // namespace ridgeline::workload
