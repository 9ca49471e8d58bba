#pragma once

#include <cstdint>
#include <optional>

#include "core/time.hpp"
#include "observe/run_clock.hpp"
#include "observe/target.hpp"

namespace ridgeline::observe {

/// The round trip of the network to a server: the median of some TCP handshakes. The other side's
/// kernel answers them, so that nothing of the server's own work is in it. Nothing over a UNIX
/// socket, or where a connection fails. Takes about 0.2 s and a round trip for each handshake.
[[nodiscard]] std::optional<core::Duration> measure_round_trip(const RunClock& clock,
                                                               const Address& address,
                                                               std::uint16_t port);

}  // namespace ridgeline::observe
