#include "core/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/fault_scope.hpp"

namespace ridgeline::core {
namespace {

class Jobs {
 public:
  Jobs(std::size_t count, const std::function<void(std::size_t)>& job) : count_(count), job_(job) {}

  void work() {
    for (std::size_t i = next_++; i < count_; i = next_++) {
      try {
        job_(i);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failed_ || i < *failed_) {
          failed_ = i;
          thrown_ = std::current_exception();
        }
        next_ = count_;
      }
    }
  }
  void rethrow() const {
    if (thrown_) {
      std::rethrow_exception(thrown_);
    }
  }

 private:
  std::size_t count_;
  const std::function<void(std::size_t)>& job_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::optional<std::size_t> failed_;
  std::exception_ptr thrown_;
};

}  // namespace

void for_each_job(std::size_t count,
                  std::int64_t threads,
                  const std::function<void(std::size_t)>& job) {
  Jobs jobs(count, job);
  const bool scoped = FaultScope::active();
  {
    std::vector<std::jthread> helpers;  // ended and joined before the exception is passed on
    const auto wanted = std::min(threads, static_cast<std::int64_t>(count));
    for (std::int64_t i = 1; i < wanted; ++i) {
      helpers.emplace_back([&jobs, scoped] {
        std::optional<FaultScope> scope;
        if (scoped) {
          scope.emplace();
        }
        jobs.work();
      });
    }
    jobs.work();
  }
  jobs.rethrow();
}

}  // namespace ridgeline::core
