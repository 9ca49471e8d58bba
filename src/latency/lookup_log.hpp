#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace ridgeline::latency {

/// What the predictions of one run met: look-ups outside a table or without a row, a constant that
/// decides a step. A step-time model writes numbered entries (StepTimeModel::predict_logged) and
/// words them afterwards (StepTimeModel::findings). One log belongs to one run on one thread, so
/// that runs may share a model.
class LookupLog {
 public:
  struct Entry {
    std::int64_t count = 0;
    double least = std::numeric_limits<double>::infinity();
    double most = -std::numeric_limits<double>::infinity();

    void add(double value, std::int64_t times) {
      count += times;
      least = std::min(least, value);
      most = std::max(most, value);
    }
  };

  /// Notes that `value` was met `times` times (at least once).
  void note(std::size_t entry, double value, std::int64_t times = 1) {
    if (entry >= entries_.size()) {
      entries_.resize(entry + 1);
    }
    entries_[entry].add(value, times);
  }
  /// What was noted so far; an entry without a note has count 0.
  [[nodiscard]] Entry at(std::size_t entry) const {
    return entry < entries_.size() ? entries_[entry] : Entry();
  }

 private:
  std::vector<Entry> entries_;
};

}  // namespace ridgeline::latency
