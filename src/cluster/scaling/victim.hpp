#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/ids.hpp"
#include "core/time.hpp"

namespace ridgeline::scaling {

/// Which replica goes first when there are to be fewer.
enum class VictimPolicy : std::uint8_t { kNewest, kLeastLoaded };
inline constexpr std::array<std::string_view, 2> kVictimPolicyNames = {"newest", "least-loaded"};

struct VictimCandidate {
  core::InstanceId id;
  bool is_ready = false;
  core::SimTime created;
  std::int64_t requests = 0;  ///< There, by the gateway's own count.
};

/// The place of the one that goes: replicas that are not ready before those that are (as a
/// ReplicaSet does), then by the policy, the newest of equals, the last of those.
[[nodiscard]] std::size_t victim(std::span<const VictimCandidate> candidates, VictimPolicy policy);

}  // namespace ridgeline::scaling
