#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/limits.hpp"
#include "workload/source.hpp"

namespace ridgeline::workload {

/// Independent exponential gaps of mean 1 / request_rate; the first request comes after the first
/// gap.
struct PoissonArrivals {
  core::Rate request_rate;
};

/// Request i comes at i / request_rate: no drift, the first at time zero.
struct ConstantArrivals {
  core::Rate request_rate;
};

/// Independent gamma gaps of mean 1 / request_rate and shape `burstiness`, as `vllm bench serve`
/// draws them: 1 is Poisson, less is burstier (the gaps' coefficient of variation is 1 /
/// sqrt(burstiness)). Unlike there, the gaps are not stretched afterwards to make the last arrival
/// fall on num_prompts / request_rate.
struct GammaArrivals {
  core::Rate request_rate;
  double burstiness = 1.0;
};

/// Every request at time zero, as request_rate = inf of `vllm bench serve`.
struct AllAtOnce {};

/// How long a user of a closed loop waits before the next request.
struct ThinkTime {
  enum class Kind : std::uint8_t { kConstant, kExponential };
  Kind kind = Kind::kConstant;
  core::Duration mean;
};

/// max_concurrency users, each with one request in flight: all send at time zero, and again as soon
/// as the answer is there and the think time is over. Users are not sessions: requests share
/// nothing.
struct ClosedLoop {
  std::int64_t max_concurrency = 1;
  ThinkTime think;
};

using Arrivals =
    std::variant<PoissonArrivals, ConstantArrivals, GammaArrivals, AllAtOnce, ClosedLoop>;

/// Lengths are whole tokens from 1 to kMaxTokensPerRequest.
struct FixedLength {
  core::Tokens value;
};

/// Every length from lowest to highest, both included, equally likely.
struct UniformLength {
  core::Tokens lowest;
  core::Tokens highest;
};

/// A normal variable rounded to the nearest token; what falls outside lowest to highest is moved to
/// the nearer end.
struct NormalLength {
  double mean = 0.0;
  double std = 0.0;
  core::Tokens lowest = core::Tokens(1);
  core::Tokens highest = core::Tokens(kMaxTokensPerRequest);
};

/// A lognormal variable, rounded and limited as above. `mean` and `std` are those of the length
/// itself, not of its logarithm.
struct LognormalLength {
  double mean = 0.0;
  double std = 0.0;
  core::Tokens lowest = core::Tokens(1);
  core::Tokens highest = core::Tokens(kMaxTokensPerRequest);
};

/// Each value with a probability in proportion to its weight.
struct EmpiricalLength {
  struct Bin {
    core::Tokens value;
    double weight = 0.0;
  };
  std::vector<Bin> bins;
};

using Length =
    std::variant<FixedLength, UniformLength, NormalLength, LognormalLength, EmpiricalLength>;

/// Prompts that begin with one of a few common texts, such as system prompts. The prefix comes on
/// top of input_len: a prompt has prefix_len + input_len tokens, as with --random-prefix-len of
/// `vllm bench serve`.
struct SharedPrefix {
  enum class Choice : std::uint8_t { kUniform, kZipf };
  core::Tokens prefix_len;
  std::int64_t num_prefixes = 1;
  /// kZipf: prefix k (from 1) is used in proportion to k^-zipf_exponent.
  Choice choice = Choice::kUniform;
  double zipf_exponent = 1.0;
};

/// A workload drawn from distributions. Arrivals, input lengths, output lengths and prefixes each
/// have a random stream of their own: changing one of them leaves the others as they are, request
/// by request.
struct SyntheticOptions {
  Arrivals arrivals = PoissonArrivals{core::Rate(1.0)};
  /// Beside arrivals that are no closed loop: at most so many requests in flight, the others wait
  /// at the client (workload/concurrency_limit.hpp).
  std::optional<std::int64_t> max_concurrency;
  Length input_len = FixedLength{core::Tokens(512)};
  Length output_len = FixedLength{core::Tokens(128)};
  std::optional<SharedPrefix> prefix;
  /// The stream ends after num_prompts requests, and before `duration` (a request at exactly
  /// `duration` is not sent); whichever comes first. At least one of them is needed, num_prompts
  /// for AllAtOnce.
  std::optional<std::int64_t> num_prompts;
  std::optional<core::Duration> duration;
  std::uint64_t seed = 0;
  std::uint64_t replication = 0;
};

/// Limits of the numbers above, far beyond what is measured anywhere, so that no sum or product
/// leaves its range.
inline constexpr double kLowestRequestRate = 1e-6;
inline constexpr double kHighestRequestRate = 1e9;
inline constexpr double kLowestBurstiness = 1e-3;
inline constexpr double kHighestBurstiness = 1e6;
inline constexpr std::int64_t kMaxConcurrency = 1'000'000;  ///< Eight bytes each.
inline constexpr std::int64_t kMaxPrefixes = 1'000'000'000;
inline constexpr double kHighestZipfExponent = 100.0;

/// Every problem of the options, by the name of the option ("workload.request_rate"); empty when
/// sound.
core::Errors check_options(const SyntheticOptions& options);

/// Draws the requests lazily, in constant memory. Each asks for exactly the tokens it will generate
/// (max_tokens equals output_tokens), as benchmarks with ignore_eos do. Fails with check_options'
/// problems. A stream whose arrivals pass the range of simulated time ends with an error in
/// errors().
core::Result<std::unique_ptr<Source>> make_synthetic(const SyntheticOptions& options);

}  // namespace ridgeline::workload
