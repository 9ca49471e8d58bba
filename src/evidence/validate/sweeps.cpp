#include "evidence/validate/sweeps.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// With fewer sequences, a step mostly reads the weights.
constexpr std::int64_t kFewestInFlight = 8;
/// So many times the sequences read so many times the KV cache and, of networks with experts, most
/// of those that few sequences pass by. Of the published sweeps that reach so far the flattest
/// takes 1.35 times as long (Llama-3.1-70B in FP4 on two B200, 8 to 64 clients).
constexpr std::int64_t kWide = 8;
constexpr double kFlat = 1.05;

struct SweepPoint {
  std::int64_t in_flight = 0;
  double ms = 0.0;  ///< Per token.

  friend auto operator<=>(const SweepPoint&, const SweepPoint&) = default;
};

struct Sweep {
  std::vector<Evidence*> records;
  std::vector<SweepPoint> points;
};

std::optional<double> time_per_token(const Evidence& evidence) {
  const auto& mean = evidence.measured.at(Figure::kTpot, Level::kMean);
  return mean ? mean : evidence.measured.at(Figure::kItl, Level::kP50);
}

bool is_point(const Evidence& evidence) {
  return evidence.problem.empty() && !evidence.fleet && evidence.stages.size() == 1 &&
         evidence.stages.front().kind == StageLoad::Kind::kClosed && time_per_token(evidence);
}

/// Lengths as far as the load sets them.
std::string text_of(const TokenCounts& counts) {
  return counts.law == TokenCounts::Law::kHistogram
             ? "its own"
             : fmt::format("{} {} {}", static_cast<int>(counts.law), counts.mean, counts.std);
}

/// What the records of a sweep share.
std::vector<std::string> shared_by(const Evidence& evidence) {
  return {evidence.model,
          evidence.precision,
          evidence.weight_quantisation,
          evidence.gpu,
          fmt::format("{} {} {} {} {}",
                      evidence.num_gpus,
                      evidence.tensor_parallel,
                      evidence.pipeline_parallel,
                      evidence.data_parallel,
                      evidence.expert_parallel),
          evidence.engine,
          evidence.stated_version,
          evidence.workload,
          evidence.generator,
          text_of(evidence.input),
          text_of(evidence.output),
          evidence.measured.at(Figure::kTpot, Level::kMean) ? "tpot" : "itl"};
}

/// Why the times of a sweep are not those of its concurrencies; empty where nothing says so.
std::string contradiction(const Sweep& sweep) {
  if (sweep.points.empty()) {
    return {};
  }
  const auto [fewest, most] = std::ranges::minmax(sweep.points);
  if (most.in_flight < kWide * fewest.in_flight || most.ms >= kFlat * fewest.ms) {
    return {};
  }
  return fmt::format(
      "the time per token does not grow with the concurrency ({:.1f} ms with {} requests in "
      "flight, {:.1f} with {}): the sweep was not run at these",
      fewest.ms,
      fewest.in_flight,
      most.ms,
      most.in_flight);
}

}  // namespace

void check_sweeps(std::vector<Evidence>& evidence) {
  std::map<std::vector<std::string>, Sweep> sweeps;
  for (Evidence& record : evidence) {
    if (!is_point(record)) {
      continue;
    }
    Sweep& sweep = sweeps[shared_by(record)];
    sweep.records.push_back(&record);
    if (const std::int64_t in_flight = record.stages.front().concurrency;
        in_flight >= kFewestInFlight) {
      sweep.points.push_back({.in_flight = in_flight, .ms = *time_per_token(record)});
    }
  }
  for (const auto& [shared, sweep] : sweeps) {
    const std::string why = contradiction(sweep);
    for (Evidence* record : sweep.records) {
      if (!why.empty()) {
        record->contradicted = why;
        record->doubts.push_back(why);
      }
    }
  }
}

}  // namespace ridgeline::evidence::validate
