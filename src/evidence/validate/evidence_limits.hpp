#pragma once

#include <cstddef>
#include <cstdint>

#include "evidence/validate/evidence.hpp"

/// What a measured record may say. Beyond lie slips of a unit and hostile files: a number that the
/// simulation cannot hold, or a load that would take hours and gigabytes.
namespace ridgeline::evidence::validate {

/// A file, unpacked; a result of `vllm bench serve` with the gaps of ten thousand answers has half.
inline constexpr std::size_t kMostFileBytes = std::size_t{128} * 1024 * 1024;
/// Lines that are records, and logs of requests that records name.
inline constexpr std::size_t kMostRecords = 100'000;
inline constexpr std::size_t kMostLogs = 64;
/// 30 days, a third of the range of simulated time (core/time.hpp).
inline constexpr double kLongestRunSeconds = 2'592'000.0;
/// Tokens of one prompt or answer: 2^24, past every network.
inline constexpr double kMostTokens = 16'777'216.0;
/// Requests of a record, and clients of a closed loop: ten times the largest record published.
inline constexpr std::int64_t kMostRequests = 200'000;

/// Notes in `problem` the first figure, load or server setting of a record that is out of range.
/// Leaves a problem that is there.
void check_limits(Evidence& evidence);

}  // namespace ridgeline::evidence::validate
