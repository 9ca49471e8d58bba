#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/generate/law.hpp"
#include "workload/generate/rate_curve.hpp"
#include "workload/item_stream.hpp"

namespace ridgeline::workload {

/// Prompts that begin with one of a few common texts.
struct ClientPrefix {
  std::string group;  ///< Clients that name the same group share its texts.
  Law length = Law::constant(50.0);
  std::int64_t count = 1;      ///< Texts.
  double zipf_exponent = 0.0;  ///< Text k is used in proportion to k^-this.
};

/// Turns of a session that a workload spec describes. Each prompt lists the turns before it, so
/// that memory grows with their square: 130 MB for as many.
inline constexpr std::int64_t kMostTurns = 4096;
/// Calls of one turn.
inline constexpr std::int64_t kMostCallsAtOnce = 64;

/// Groups of more than one request.
struct ClientSession {
  Law turns = Law::constant(1.0);
  Law think = Law::constant(0.0);  ///< Seconds between an answer and the next turn.
  /// Later prompts hold the conversation so far.
  bool accumulate = true;
  /// A text of the session alone, behind the shared one.
  std::optional<Law> own_prefix = {};
  /// Each turn after the first is sent by so many calls at once; the next waits for all of them
  /// (agents that fan out).
  Law fan_out = Law::constant(1.0);
  /// Turns come at their own times, `think` (and a microsecond per answer token) after each other,
  /// instead of after answers.
  bool open_loop = false;
};

/// A kind of traffic, in distributions.
struct ClientSpec {
  RateCurve rate = RateCurve::constant(1.0);
  std::optional<MarkovRates> markov = {};
  GapLaw gaps = {};
  Law input = Law::constant(512.0);
  Law output = Law::constant(128.0);
  /// Correlation of the normal scores of input and output (a Gaussian copula), -1 to 1; 0:
  /// independent.
  double correlation = 0.0;
  std::optional<ClientPrefix> prefix = {};
  std::optional<ClientSession> session = {};
  /// Share of the output that is reasoning, 0 to 1.
  std::optional<Law> reasoning = {};
  std::optional<Law> images = {};
  std::optional<Law> image_tokens = {};  ///< Tokens of one image; on top of the input.
  std::int32_t priority = 0;
  std::string slo_class = {};
  std::string tenant = {};
  std::string model = {};
  std::string adapter = {};
  std::optional<std::int64_t> num_groups = {};
  std::optional<core::Duration> end = {};  ///< No group starts at or after it.
  bool at_once = false;  ///< All groups at time zero; without num_groups, endless.
};

/// The items of a client, lazily. Arrivals, lengths, prefixes and sessions each have random streams
/// of their own, named by `entity`. Contents and labels may meet those of other clients.
[[nodiscard]] std::unique_ptr<ItemStream> make_client(const ClientSpec& spec,
                                                      std::uint64_t seed,
                                                      std::uint64_t entity = 0);

/// Several clients at once, by time; equal prefix groups share their texts. `stages`, where given,
/// hold for all.
[[nodiscard]] std::unique_ptr<ItemStream> make_clients(const std::vector<ClientSpec>& specs,
                                                       std::uint64_t seed,
                                                       Stage stage = {},
                                                       std::optional<std::int64_t> num_groups = {},
                                                       core::Warnings warnings = {});

}  // namespace ridgeline::workload
