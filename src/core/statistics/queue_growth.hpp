#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/time.hpp"

namespace ridgeline::statistics {

/// How many events there were before a time, from equal intervals: the memory of a run of any
/// length is the same. Within an interval events count as evenly spread.
class CountsOverTime {
 public:
  /// An event so many ticks after the start.
  void add(std::uint64_t since);

  [[nodiscard]] std::int64_t total() const { return total_; }
  /// Time of the last event; 0 where there is none.
  [[nodiscard]] std::uint64_t last() const { return last_; }
  /// The events before `since`.
  [[nodiscard]] double before(double since) const;

 private:
  static constexpr std::size_t kIntervals = 256;
  /// An interval of 2^20 ticks is a microsecond.
  static constexpr unsigned kFirstShift = 20;

  void widen();

  unsigned shift_ = kFirstShift;  ///< An interval is 2^shift_ ticks.
  std::array<std::int64_t, kIntervals> intervals_{};
  std::int64_t total_ = 0;
  std::uint64_t last_ = 0;
};

/// A stretch of a run in which more comes than is served.
struct Backlog {
  double begin_s = 0.0;  ///< Since the first came, like `end_s`.
  double end_s = 0.0;
  double offered_rate = 0.0;      ///< That come per second of the stretch.
  double sustainable_rate = 0.0;  ///< That can be served per second: a careful estimate.
  double wait_growth = 0.0;       ///< Seconds of wait more, per second of the stretch.
  bool whole_run = true;          ///< The stretch lasts as long as anything comes.
};

/// Follows a queue by the times at which requests join and leave it, reported in any order, and
/// judges whether it grows.
class QueueGrowth {
 public:
  /// When the first comes; before anything else.
  void start(core::SimTime first) { first_ = first; }
  [[nodiscard]] core::SimTime first() const { return first_; }
  void come(core::SimTime time) { come_.add(since(time)); }
  void leave(core::SimTime time) { left_.add(since(time)); }

  /// The stretch in which the queue grows; nothing where it does not. `throughput`: what was served
  /// per second of the whole run, if known. docs/cli.md has the rule.
  [[nodiscard]] std::optional<Backlog> backlog(std::optional<double> throughput) const;

 private:
  /// The run up to the last that comes is looked at in as many equal parts.
  static constexpr std::size_t kParts = 64;
  struct Look {
    std::array<double, kParts + 1> come{};
    std::array<double, kParts + 1> waiting{};
  };

  [[nodiscard]] std::uint64_t since(core::SimTime time) const {
    return static_cast<std::uint64_t>((time - first_).count());
  }
  [[nodiscard]] Look look() const;
  [[nodiscard]] static bool grows_throughout(const Look& look);
  [[nodiscard]] static std::optional<std::size_t> end_of_standing(const Look& look, double limit);
  [[nodiscard]] static std::size_t parts_at_half(const Look& look, std::size_t top);
  [[nodiscard]] static std::size_t beginning(const Look& look, std::size_t at, double peak);
  [[nodiscard]] Backlog stretch(const Look& look,
                                std::size_t begin,
                                std::size_t end,
                                std::optional<double> throughput) const;

  core::SimTime first_;
  CountsOverTime come_;
  CountsOverTime left_;
};

}  // namespace ridgeline::statistics
