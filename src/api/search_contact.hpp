#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

#include "ridgeline/ridgeline.hpp"

namespace ridgeline::api {

/// The code of a call that was interrupted.
inline constexpr int kStopped = 130;

/// Tells the host how far a search is, from any thread, and asks it whether to stop (Watch).
class SearchContact {
 public:
  explicit SearchContact(const Hooks& hooks) : hooks_(hooks) {}

  void update(std::int64_t done, std::int64_t total) {
    const std::lock_guard lock(mutex_);
    tell(done, total);
  }
  /// One more is done. Counted under the lock, so that the host hears the counts in order.
  void advance(std::int64_t total) {
    const std::lock_guard lock(mutex_);
    tell(++done_, total);
  }
  [[nodiscard]] const std::atomic<bool>& stop() const { return stop_; }

  /// Asks the host while something else runs on this thread's behalf.
  class Watch {
   public:
    explicit Watch(SearchContact& contact) {
      if (!contact.hooks_.interrupted) {
        return;
      }
      thread_ = std::thread([this, &contact] {
        constexpr std::chrono::milliseconds kBetween(20);
        while (!over_) {
          if (contact.hooks_.interrupted()) {
            contact.stop_ = true;
          }
          std::this_thread::sleep_for(kBetween);
        }
      });
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch() {
      over_ = true;
      if (thread_.joinable()) {
        thread_.join();
      }
    }

   private:
    std::atomic<bool> over_ = false;
    std::thread thread_;
  };

 private:
  void tell(std::int64_t done, std::int64_t total) const {
    if (hooks_.progress) {
      hooks_.progress({.simulated_s = 0.0, .done = done, .total = total});
    }
  }

  const Hooks& hooks_;
  std::mutex mutex_;
  std::int64_t done_ = 0;
  std::atomic<bool> stop_ = false;
};

}  // namespace ridgeline::api
