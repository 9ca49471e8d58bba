#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/time.hpp"

namespace ridgeline::serve {

/// What goes wrong on purpose. The first three strike a share of the requests, drawn from (seed,
/// request number); the last one the server, once.
struct Fault {
  enum class Kind : std::uint8_t { kError, kStall, kDisconnect, kDie };
  Kind kind = Kind::kError;
  double share = 0.0;
  int status = 500;                         ///< kError.
  std::optional<std::int64_t> retry_after;  ///< Seconds; kError.
  core::Duration lasts = {};                ///< kStall: before the first token. kDie.
  std::int64_t after_tokens = 0;            ///< kDisconnect.
  core::Duration at = {};                   ///< kDie: since the start.
};

[[nodiscard]] std::string_view name(Fault::Kind kind);

/// A fault as keys and values: {kind, error}, {share, 0.01}, {status, 429}. Nothing where they are
/// not one; `wrong` is then what is not.
[[nodiscard]] std::optional<Fault> read_fault(
    const std::vector<std::pair<std::string, std::string>>& parts, std::string& wrong);
/// How faults are written, for messages.
inline constexpr std::string_view kFaultExamples =
    "kind=error,share=0.01,status=429,retry-after=1; kind=stall,share=0.001,for=30s; "
    "kind=disconnect,share=0.001,after-tokens=20; kind=die,at=120s,for=60s";

}  // namespace ridgeline::serve
