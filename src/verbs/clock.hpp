#pragma once

#include <chrono>
#include <ctime>

namespace ridgeline::verbs {

/// Wall time, for progress, polls and `run_info`: no result depends on it.
class StopWatch {
 public:
  [[nodiscard]] double seconds() const {
    const std::chrono::duration<double> passed = Clock::now() - start_;
    return passed.count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

/// Says yes at the first question, and then at most once in so many seconds.
class AtMostEvery {
 public:
  explicit AtMostEvery(double seconds) : seconds_(seconds) {}

  bool now() {
    const double at = clock_.seconds();
    if (has_been_ && at - last_ < seconds_) {
      return false;
    }
    has_been_ = true;
    last_ = at;
    return true;
  }

 private:
  StopWatch clock_;
  double seconds_;
  double last_ = 0.0;
  bool has_been_ = false;
};

/// Processor time of this process, all threads.
inline double core_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace ridgeline::verbs
