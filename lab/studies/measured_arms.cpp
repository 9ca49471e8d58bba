#include "lab/studies/measured_arms.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/measured_run.hpp"
#include "evidence/validate/prediction.hpp"
#include "evidence/validate/scores.hpp"
#include "evidence/validate/validate.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/study.hpp"
#include "latency/step_time_model.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::studies {
namespace {

using evidence::validate::Evidence;
using evidence::validate::Figure;
using evidence::validate::Level;
using evidence::validate::PartPrediction;
using evidence::validate::Standing;

/// Equal predictions have equal keys.
std::string key_of(const std::vector<scenario::Override>& overrides, const std::string& measured) {
  std::string key = measured;
  for (const scenario::Override& one : overrides) {
    key += fmt::format("\n{}={}", one.path, one.text);
  }
  return key;
}

const std::string& server_of(const Evidence& evidence) {
  return evidence.run.empty() ? evidence.id : evidence.run;
}

bool is_scored(const Evidence& evidence, const PartPrediction& prediction) {
  std::string reason;
  return evidence::validate::standing_of(evidence, prediction, reason) == Standing::kScored;
}

std::vector<std::size_t> every_place(std::size_t size) {
  std::vector<std::size_t> places(size);
  std::iota(places.begin(), places.end(), std::size_t{0});
  return places;
}

/// Records of servers of which a stage counts: a stage alone would start cold.
std::vector<std::size_t> of_counted_servers(const std::vector<Evidence>& evidence,
                                            const std::vector<PartPrediction>& predictions) {
  std::set<std::string> servers;
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    if (is_scored(evidence[i], predictions[i])) {
      servers.insert(server_of(evidence[i]));
    }
  }
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    if (servers.contains(server_of(evidence[i]))) {
      kept.push_back(i);
    }
  }
  return kept;
}

ScoredRun run_of(const Evidence& evidence, const evidence::validate::Prediction& first) {
  ScoredRun run{.group = fmt::format("{}, {}", evidence.family, evidence.strategy),
                .server = server_of(evidence),
                .network = evidence.model,
                .workload = evidence.workload,
                .tensor_parallel = evidence.tensor_parallel,
                .clients = 0,
                .in_flight = first.mean_in_flight,
                .measured = evidence.measured,
                .predicted = {}};
  for (const auto& stage : evidence.stages) {
    if (evidence.closed_loop) {
      run.clients = std::max(run.clients, stage.concurrency);
    }
  }
  return run;
}

}  // namespace

std::vector<scenario::Override> overrides_of(const Arm& arm, const std::string& bench_data) {
  std::vector<scenario::Override> all = {{.path = "latency.name", .text = arm.preset}};
  if (reads_tables(arm)) {
    all.push_back({.path = "latency.bench_data", .text = bench_data});
  }
  if (!arm.lookup.empty()) {
    all.push_back({.path = "latency.lookup", .text = arm.lookup});
  }
  for (const latency::ModelSetting& setting : arm.settings) {
    const std::string value =
        setting.value.is_string() ? setting.value.as_string() : setting.value.describe();
    all.push_back({.path = "latency.set", .text = fmt::format("{}={}", setting.key, value)});
  }
  return all;
}

std::optional<double> ScoredRun::error_pct(std::size_t arm, Figure figure) const {
  return evidence::validate::error_pct(predicted[arm], measured, figure, Level::kMean);
}

std::vector<PartPrediction> ArmPredictions::predict(const std::vector<Evidence>& evidence,
                                                    const std::vector<std::size_t>& places,
                                                    const Arm& arm,
                                                    const StudyOptions& options) {
  const auto overrides = overrides_of(arm, options.bench_data);
  auto& known = known_[key_of(overrides, options.measured)];
  std::vector<std::size_t> missing;
  std::ranges::copy_if(places, std::back_inserter(missing), [&](std::size_t place) {
    return !known.contains(place);
  });
  std::vector<Evidence> asked;
  for (const std::size_t place : missing) {
    asked.push_back(evidence[place]);
  }
  const auto runs = evidence::validate::group_runs(asked);
  auto found = evidence::validate::predict(
      asked, runs, {.histories = 1, .threads = options.threads, .overrides = overrides});
  for (std::size_t i = 0; i < missing.size(); ++i) {
    known[missing[i]] = std::move(found[i]);
  }
  std::vector<PartPrediction> predictions;
  for (const std::size_t place : places) {
    predictions.push_back(known.at(place));
  }
  return predictions;
}

core::Result<std::vector<ScoredRun>> score_arms(const std::vector<Arm>& arms,
                                                const StudyOptions& options) {
  auto read = evidence::validate::read_evidence(options.measured);
  if (!read) {
    return core::fail(core::with_field(std::move(read).error(), "--measured"));
  }
  evidence::validate::derive_e2e(*read);
  ArmPredictions own;
  ArmPredictions& all = options.predictions == nullptr ? own : *options.predictions;
  const auto first = all.predict(*read, every_place(read->size()), arms.front(), options);
  const auto counted = of_counted_servers(*read, first);
  if (counted.empty()) {
    return core::fail(
        {.field = "--measured",
         .message = fmt::format(
             "none of {} records is a run that {} can price", read->size(), arms.front().preset),
         .where = {.file = options.measured},
         .hint = fmt::format("ridgeline validate FILE --latency {} says why of each",
                             arms.front().preset)});
  }
  std::vector<std::vector<PartPrediction>> predictions;
  for (const Arm& arm : arms) {
    predictions.push_back(all.predict(*read, counted, arm, options));
  }
  std::vector<ScoredRun> runs;
  for (std::size_t i = 0; i < counted.size(); ++i) {
    const Evidence& evidence = (*read)[counted[i]];
    if (!is_scored(evidence, predictions.front()[i])) {
      continue;
    }
    ScoredRun run = run_of(evidence, *predictions.front()[i].prediction);
    for (const auto& of_arm : predictions) {
      if (!of_arm[i].prediction) {
        return core::fail({.field = "--measured",
                           .message = fmt::format("{}: {}", evidence.id, of_arm[i].problem),
                           .where = {.file = options.measured}});
      }
      run.predicted.push_back(of_arm[i].prediction->figures);
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace ridgeline::studies
