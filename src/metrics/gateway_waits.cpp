#include "metrics/gateway_waits.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "core/time.hpp"
#include "metrics/samples.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {

void GatewayWaits::add(core::Duration wait) {
  if (exact_) {
    waits_.push_back(wait.count());
  } else {
    sketch_.add(wait.count());
  }
}

std::optional<Distribution> GatewayWaits::distribution() const {
  if (!exact_) {
    return distribution_ms(sketch_);
  }
  const std::span<const std::int64_t> all = waits_;
  const auto show_all = [&](const std::function<void(ListBlocks)>& show) { show({&all, 1}); };
  return distributions_ms(1, static_cast<std::int64_t>(waits_.size()), show_all).front();
}

}  // namespace ridgeline::metrics
