#include "cluster/admission/flow/flow_control.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "cluster/admission/admission.hpp"
#include "cluster/admission/flow/fairness.hpp"
#include "cluster/admission/rules.hpp"
#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

namespace ridgeline::admission {
namespace {

/// Prompts are counted in tokens here and in bytes there.
constexpr std::int64_t kBytesPerToken = 4;

std::int64_t bytes_of(const Claim& claim) {
  return claim.prompt_tokens.value() * kBytesPerToken;
}

}  // namespace

FlowControl::Band& FlowControl::band_of(std::int64_t priority) {
  const auto found = bands_.find(priority);
  if (found != bands_.end()) {
    return found->second;
  }
  Band& band = bands_[priority];
  band.fairness = options_.fairness();
  std::vector<std::int64_t> priorities;
  for (const auto& [one, of_it] : bands_) {
    priorities.push_back(one);
  }
  ceilings_ = priority_ceilings(
      priorities, options_.min_ceiling, options_.max_ceiling, options_.ceilings_by_value);
  return band;
}

OrderKey FlowControl::key_of(const Claim& claim) {
  const core::SimTime instant = options_.order == DispatchOrder::kEdf           ? claim.expires
                                : options_.order == DispatchOrder::kSloDeadline ? claim.slo_deadline
                                                                                : core::SimTime();
  return {.instant = instant, .sequence = next_sequence_++};
}

FlowHead FlowControl::head_of(const Waiting& waiting) const {
  const Claim& claim = waiting.claim;
  return {.flow = claim.tenant,
          .share = claim.share,
          .key = waiting.key,
          .since = claim.arrival,
          .prompt_tokens = claim.prompt_tokens};
}

/// The first request of each flow that has not expired.
std::vector<FlowHead> FlowControl::heads_of(const Band& band, core::SimTime now) const {
  std::vector<FlowHead> heads;
  for (const auto& [flow, requests] : band.flows) {
    const auto first = std::ranges::find_if(requests, [&](const auto& entry) {
      return waiting_.at(entry.second.value()).claim.expires > now;
    });
    if (first != requests.end()) {
      heads.push_back(head_of(waiting_.at(first->second.value())));
    }
  }
  return heads;
}

std::optional<Reason> FlowControl::enqueue(const Claim& claim) {
  Band& band = band_of(claim.priority);
  if (band.requests >= options_.band_requests ||
      band.bytes + bytes_of(claim) > options_.band_bytes) {
    return Reason::kQueueFull;
  }
  const Waiting waiting{.claim = claim, .key = key_of(claim)};
  if (!band.flows.contains(claim.tenant)) {
    band.fairness->on_backlogged(head_of(waiting), heads_of(band, claim.arrival));
  }
  band.flows[claim.tenant].emplace(waiting.key, claim.request);
  band.requests += 1;
  band.bytes += bytes_of(claim);
  if (claim.expires != core::SimTime::never()) {
    expiries_.emplace(claim.expires, claim.request);
  }
  const bool is_new = waiting_.emplace(claim.request.value(), waiting).second;
  RIDGELINE_CHECK(is_new, "a request waits once");
  return std::nullopt;
}

std::optional<Claim> FlowControl::dispatch(double saturation, core::SimTime now) {
  std::size_t rank = 0;
  for (auto& [priority, band] : bands_) {
    const double ceiling = ceilings_[rank++];
    if (band.flows.empty()) {
      continue;
    }
    const std::vector<FlowHead> heads = heads_of(band, now);
    if (heads.empty()) {
      continue;
    }
    if (saturation >= ceiling) {
      return std::nullopt;
    }
    const FlowHead& head = heads[band.fairness->choose(heads, now)];
    band.fairness->on_dispatch(head, now);
    return take_out(band.flows.at(head.flow).at(head.key));
  }
  return std::nullopt;
}

std::optional<std::int64_t> FlowControl::blocked_priority(double saturation,
                                                          core::SimTime now) const {
  std::size_t rank = 0;
  for (const auto& [priority, band] : bands_) {
    const double ceiling = ceilings_[rank++];
    if (!heads_of(band, now).empty()) {
      return saturation >= ceiling ? std::optional(priority) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::vector<Claim> FlowControl::sweep(core::SimTime now) {
  std::vector<Claim> expired;
  while (next_expiry() <= now) {
    expired.push_back(*take_out(expiries_.begin()->second));
  }
  return expired;
}

std::optional<Claim> FlowControl::remove(core::RequestId request) {
  return waiting_.contains(request.value()) ? take_out(request) : std::nullopt;
}

std::optional<Claim> FlowControl::take_out(core::RequestId request) {
  const auto found = waiting_.find(request.value());
  const Waiting waiting = found->second;
  const Claim& claim = waiting.claim;
  waiting_.erase(found);
  expiries_.erase({claim.expires, request});
  Band& band = bands_.at(claim.priority);
  const auto flow = band.flows.find(claim.tenant);
  flow->second.erase(waiting.key);
  if (flow->second.empty()) {
    band.flows.erase(flow);
  }
  band.requests -= 1;
  band.bytes -= bytes_of(claim);
  RIDGELINE_CHECK(band.requests >= 0 && band.bytes >= 0, "what leaves a band was in it");
  return claim;
}

void FlowControl::note_output(const Claim& claim, core::Tokens output, core::SimTime now) {
  bands_.at(claim.priority).fairness->on_output(claim.tenant, claim.share, output, now);
}

}  // namespace ridgeline::admission
