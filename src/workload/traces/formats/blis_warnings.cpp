#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "workload/traces/formats/blis_client.hpp"

namespace ridgeline::workload {
namespace {

/// Fractions written with three digits, as 0.333, may miss 1 by that much.
constexpr double kFractionsSlack = 0.01;

}  // namespace

core::Warnings blis_warnings(const BlisTraits& traits) {
  core::Warnings all;
  const auto add = [&](bool applies, std::string code, std::string message) {
    if (applies) {
      all.push_back({.code = "W-blis-" + std::move(code), .message = std::move(message)});
    }
  };
  add(traits.accumulates,
      "context",
      "a conversation keeps all tokens of its answers; inference-sim loses the last one of each "
      "round");
  add(traits.counts_sessions,
      "sessions",
      "num_requests counts sessions where a client has rounds; inference-sim cuts a schedule of "
      "rounds first and then runs more requests than asked");
  add(traits.sessions,
      "client-clock",
      "the next round's think time begins when the client has the whole answer; inference-sim "
      "starts it at the engine's step");
  add(traits.diurnal,
      "diurnal",
      "the rate follows the cosine over every day; inference-sim switches it on and off within "
      "each hour of the first");
  add(traits.windows,
      "windows",
      "clients beside windows with a rate of their own are generated too, and all keep their "
      "prefixes and images; inference-sim drops them");
  add(traits.has_seed,
      "seed",
      "the seed of the run is taken, not the file's; the generators differ, so that only the "
      "laws are the same");
  if (std::abs(traits.fractions - 1.0) > kFractionsSlack) {
    all.push_back({.code = "W-fractions",
                   .message = fmt::format("rate_fraction of the clients sums to {:.4g}, not 1: the "
                                          "rate is shared in proportion",
                                          traits.fractions)});
  }
  if (traits.slo_targets) {
    all.push_back({.code = "W-slo-targets",
                   .message = "goodput_slo_targets and slo_target_us are read over: targets are "
                              "the run's",
                   .hint = "--goodput"});
  }
  add(traits.network,
      "network",
      "network is read over, as inference-sim does for simulated metrics");
  add(traits.timeouts, "timeout", "timeouts of clients are read over: no request is given up");
  return all;
}

}  // namespace ridgeline::workload
