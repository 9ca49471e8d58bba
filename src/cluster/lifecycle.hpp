#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ridgeline::cluster {

/// The states of an instance, in the order in which it passes through them. Only a ready one gets
/// new requests.
enum class Lifecycle : std::uint8_t {
  kGone,      ///< Not there: not yet, or no longer. Costs nothing.
  kPending,   ///< Finds a node, fetches its image; or lies where it crashed.
  kLoading,   ///< Reads its weights.
  kWarming,   ///< Compiles, captures graphs, warms up.
  kReady,     ///< Serves.
  kDraining,  ///< Finishes what it has.
};
inline constexpr std::size_t kNumLifecycles = 6;
inline constexpr std::array<std::string_view, kNumLifecycles> kLifecycleNames = {
    "gone", "pending", "loading", "warming", "ready", "draining"};

/// On its way to be ready, or where it crashed.
[[nodiscard]] constexpr bool is_starting(Lifecycle state) {
  return state == Lifecycle::kPending || state == Lifecycle::kLoading ||
         state == Lifecycle::kWarming;
}

}  // namespace ridgeline::cluster
