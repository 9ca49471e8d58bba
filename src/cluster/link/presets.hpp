#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/time.hpp"
#include "core/units.hpp"

namespace ridgeline::link {

/// How fast KV was measured to move between two instances.
struct LinkPreset {
  std::string_view name;
  /// Rate of one GPU's network card, each way. With per_token, which holds the moving, no limit.
  std::int64_t card_bytes_per_second = 0;
  core::Duration setup = {};      ///< Before the first byte.
  core::Duration per_token = {};  ///< More of that, by the tokens that are moved.

  /// What so many bytes of so many tokens take between instances of so many GPUs.
  [[nodiscard]] constexpr core::Duration time(std::int64_t bytes,
                                              std::int64_t tokens,
                                              std::int64_t gpus) const {
    const double seconds = static_cast<double>(bytes) /
                           (static_cast<double>(card_bytes_per_second) * static_cast<double>(gpus));
    return setup + per_token * tokens + core::Duration::saturating(core::Seconds(seconds));
  }
};

inline constexpr auto kLinkPresets = std::to_array<LinkPreset>({
    // Mooncake's connector for vLLM, Qwen3-8B from 8 to 8 H800 over eight 400 Gb/s RoCE cards:
    // 0.92,
    // 4.75 and 31.65 ms for 74 MB, 578 MB and 4.5 GB are 0.4 ms and 144 GB/s of all cards
    // (kvcache-ai/Mooncake at 3b5a59413, vllm-v1-pd-performance.md).
    {.name = "rdma",
     .card_bytes_per_second = 18'000'000'000,
     .setup = core::Duration::microseconds(400)},
    // A cached prefix that an instance reads from another one: 35 ms to the first token with 2,048
    // tokens and 86 ms with 16,384 (llm-d, peer-to-peer KV cache sharing, 2026-08-15), all that an
    // answer waits for. Network and card are not repeated with the figures.
    {.name = "rdma-pull",
     .card_bytes_per_second = 1'000'000'000'000,
     .setup = core::Duration::milliseconds(28),
     .per_token = core::Duration::saturating(core::Seconds(3.5e-6))},
});

}  // namespace ridgeline::link
