#include "evidence/validate/start_up.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cluster/scaling/cold_start.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "evidence/validate/deployment.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/loose_node.hpp"
#include "evidence/validate/prediction.hpp"
#include "scenario/accuracy_question.hpp"
#include "scenario/cache_room.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/cold_start.hpp"

namespace ridgeline::evidence::validate {
namespace {

constexpr double kPerGigabyte = 1e9;

/// By the log of the server, as `figures` of a start.
Figures start_figures(const scenario::Deployment& deployment) {
  const scaling::StartParts parts = scaling::start_parts(scenario::start_facts(deployment));
  Figures figures;
  const auto set = [&](Figure figure, double value) { figures.at(figure, Level::kMean) = value; };
  set(Figure::kLoadWeights, parts.weights.value());
  set(Figure::kModelLoad, parts.model_load().value());
  set(Figure::kProfileRun, parts.profile.value());
  set(Figure::kTorchCompile, parts.compile.value());
  set(Figure::kGraphCapture, parts.capture.value());
  set(Figure::kInitEngine, parts.engine().value());
  set(Figure::kReady, parts.whole().value());
  set(Figure::kReadyButWeights, (parts.whole() - parts.weights).value());
  set(Figure::kModelMemory, core::as_gibibytes(deployment.memory.weights));
  set(Figure::kKvMemory, core::as_gibibytes(deployment.memory.kv_cache));
  set(Figure::kKvTokens, static_cast<double>(scenario::logged_tokens(deployment)));
  set(Figure::kGraphMemory, core::as_gibibytes(deployment.memory.cuda_graphs));
  return figures;
}

}  // namespace

Figures read_start(const document::Node& measured, std::vector<std::string>& others) {
  Figures figures;
  if (!measured.is_map()) {
    return figures;
  }
  std::vector<std::string> unknown;
  for (const auto& member : measured.members()) {
    const auto* const name = std::ranges::find(kFigureNames, member.key);
    const auto figure = static_cast<Figure>(name - kFigureNames.begin());
    if (name == kFigureNames.end() || !is_of_start(figure)) {
      unknown.push_back(member.key);
    } else {
      figures.at(figure, Level::kMean) = positive_at(measured, member.key, "", unknown);
    }
  }
  const auto& ready = figures.at(Figure::kReady, Level::kMean);
  const auto& weights = figures.at(Figure::kLoadWeights, Level::kMean);
  if (ready && weights && *ready > *weights) {
    figures.at(Figure::kReadyButWeights, Level::kMean) = *ready - *weights;
  }
  if (!figures.empty()) {
    others = std::move(unknown);
  }
  return figures;
}

PartPrediction predict_start(Evidence& evidence, const std::vector<scenario::Override>& overrides) {
  const auto server = deploy(evidence, overrides);
  if (!server) {
    return {.prediction = std::nullopt, .problem = first_line(server.error())};
  }
  const scenario::Deployment& deployment = *server->deployment;
  Prediction prediction;
  prediction.figures = start_figures(deployment);
  evidence.assumed.push_back(
      fmt::format("weights come at {:.6g} GB/s: a page cache that holds them, or a slower disk, is "
                  "not known of",
                  scaling::kDefaultLoadBandwidth.value() / kPerGigabyte));
  if (!evidence.server.max_model_len && scenario::depends_on_longest(deployment) &&
      evidence.measured.at(Figure::kKvTokens, Level::kMean)) {
    prediction.figures.at(Figure::kKvTokens, Level::kMean) = std::nullopt;
    evidence.assumed.emplace_back(
        "kv_cache_tokens is not predicted: it depends on max_model_len, which is not stated");
  }
  prediction.lowest = prediction.figures;
  prediction.highest = prediction.figures;
  prediction.likeness = scenario::accuracy_question(deployment, false);
  return {.prediction = std::move(prediction), .problem = {}};
}

}  // namespace ridgeline::evidence::validate
