#include "routing/request_rates.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "core/ids.hpp"
#include "core/time.hpp"

namespace ridgeline::routing {

void RequestRates::add(core::InstanceId instance, core::SimTime now) {
  const std::size_t room = std::max(sent_.size(), std::size_t{instance.value()} + 1);
  sent_.resize(room);
  known_.resize(room);
  sent_[instance.value()].push_back(now);
  known_[instance.value()] = true;
}

std::optional<double> RequestRates::rate(core::InstanceId instance, core::SimTime now) {
  if (instance.value() >= sent_.size() || !known_[instance.value()]) {
    return std::nullopt;
  }
  auto& sent = sent_[instance.value()];
  while (!sent.empty() && now - sent.front() > window_) {
    sent.pop_front();
  }
  return static_cast<double>(sent.size()) / window_.to_seconds();
}

}  // namespace ridgeline::routing
