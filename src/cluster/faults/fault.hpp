#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/ids.hpp"
#include "core/time.hpp"

/// What goes wrong in a cluster, and how it is noticed and retried.
namespace ridgeline::faults {

enum class FaultKind : std::uint8_t {
  kCrash,           ///< All requests of an instance are lost, and its KV cache; it starts again.
  kSlowdown,        ///< Steps of an instance take longer.
  kHang,            ///< No step of an instance ends; requests stay.
  kScrapeLoss,      ///< The gateway cannot read an instance's gauges: they grow old.
  kGatewayRestart,  ///< The gateway forgets its counters and what its router remembers.
  kLinkDegraded,    ///< KV moves more slowly over a host's network card, or the fabric.
  kLinkDown,        ///< It stands still there.
  kEventLoss,       ///< The gateway misses the KV events of an instance.
};
inline constexpr std::size_t kNumFaultKinds = 8;
/// What users call them.
inline constexpr std::array<std::string_view, kNumFaultKinds> kFaultKindNames = {"crash",
                                                                                 "slowdown",
                                                                                 "hang",
                                                                                 "scrape-loss",
                                                                                 "gateway-restart",
                                                                                 "link-degraded",
                                                                                 "link-down",
                                                                                 "event-loss"};
/// Whether it strikes what KV is sent over, and no instance.
[[nodiscard]] constexpr bool is_of_link(FaultKind kind) {
  return kind == FaultKind::kLinkDegraded || kind == FaultKind::kLinkDown;
}

/// One fault at one instant.
struct Fault {
  FaultKind kind = FaultKind::kCrash;
  core::SimTime at = {};
  core::InstanceId instance = {};  ///< None of a gateway's, or of a link's.
  /// For a link's fault, the host whose card it is (from 0); nothing: the fabric.
  std::optional<std::int64_t> host = {};
  /// From the crash until the instance serves again (nothing: it starts as a new one does); of the
  /// others, how long they last (nothing: to the end).
  std::optional<core::Duration> lasts = {};
  /// Factor on step times, for a slow-down; on the rate, for a degraded link.
  std::int64_t factor_thousandths = 1000;
  bool cuts_requests = false;  ///< A gateway's restart ends the requests in flight.
  /// KV events that were lost are sent again when the next ones show that they are missing;
  /// otherwise the gateway drops what it knew of the instance's cache.
  bool replays_events = true;

  friend bool operator==(const Fault&, const Fault&) = default;
};

}  // namespace ridgeline::faults
