#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cluster/scaling/policies/policies.hpp"
#include "cluster/scaling/registry.hpp"
#include "cluster/scaling/scaler.hpp"
#include "core/time.hpp"

namespace ridgeline::scaling {
namespace {

/// So many replicas from each listed instant on.
class Schedule final : public Scaler {
 public:
  explicit Schedule(const ScalerSettings& settings) : replicas_at_(settings.replicas_at) {}

  [[nodiscard]] core::SimTime next_decision(core::SimTime now) const override {
    // What is listed for the start is due at it, once.
    const bool begins = !decided_ && !replicas_at_.empty() && replicas_at_.front().first <= now;
    const auto next = begins ? replicas_at_.begin() : after(now);
    return next == replicas_at_.end() ? core::SimTime::never() : next->first;
  }
  [[nodiscard]] ScalePlan evaluate(const PoolHistory& history, core::SimTime now) override {
    decided_ = true;
    const auto next = after(now);
    return next == replicas_at_.begin()
               ? ScalePlan{.replicas = history.replicas}
               : ScalePlan{.replicas = std::prev(next)->second, .reason = "by schedule"};
  }

 private:
  using Listed = std::pair<core::SimTime, std::int64_t>;
  [[nodiscard]] std::vector<Listed>::const_iterator after(core::SimTime now) const {
    return std::ranges::upper_bound(replicas_at_, now, {}, &Listed::first);
  }

  std::vector<Listed> replicas_at_;
  bool decided_ = false;
};

}  // namespace

std::unique_ptr<Scaler> make_schedule(const ScalerSettings& settings) {
  return std::make_unique<Schedule>(settings);
}

}  // namespace ridgeline::scaling
