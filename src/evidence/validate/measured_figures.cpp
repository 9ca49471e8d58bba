#include "evidence/validate/measured_figures.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/loose_node.hpp"
#include "evidence/validate/measured_power.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// A member that is a map. What is there and is none goes to `odd`.
const document::Node* map_of(const document::Node& node,
                             std::string_view key,
                             std::vector<std::string>& odd) {
  const document::Node* found = member_at(node, key);
  if (found != nullptr && !found->is_map()) {
    odd.push_back(fmt::format("{} is {}, expected a map", key, found->describe()));
    return nullptr;
  }
  return found;
}

}  // namespace

bool Figures::empty() const {
  for (const auto& levels : values) {
    for (const auto& value : levels) {
      if (value) {
        return false;
      }
    }
  }
  return true;
}

Figures read_figures(const document::Node& node, std::int64_t gpus, std::vector<std::string>& odd) {
  Figures figures;
  for (std::size_t i = 0; i < kNumFigures; ++i) {
    const auto figure = static_cast<Figure>(i);
    const std::string key = fmt::format("{}_ms", kFigureNames[i]);
    const bool has_levels =
        is_time(figure) && figure != Figure::kKvTransfer && !is_of_server(figure);
    const document::Node* levels = has_levels ? map_of(node, key, odd) : nullptr;
    for (std::size_t j = 0; levels != nullptr && j < kNumLevels; ++j) {
      figures.at(figure, static_cast<Level>(j)) =
          positive_at(*levels, kLevelNames[j], key + ".", odd);
    }
  }
  // Batches that come at once have two times: the prompts' step and a decode step.
  constexpr std::array<std::pair<Figure, std::string_view>, 2> kPhases = {
      {{Figure::kTtft, "prompt_ms"}, {Figure::kTpot, "token_ms"}}};
  for (const auto& [figure, key] : kPhases) {
    const document::Node* phase = map_of(node, key, odd);
    auto& mean = figures.at(figure, Level::kMean);
    if (const auto value = phase != nullptr
                               ? positive_at(*phase, "mean", fmt::format("{}.", key), odd)
                               : std::nullopt;
        !mean) {
      mean = value;
    }
  }
  figures.at(Figure::kKvTransfer, Level::kMean) = positive_at(node, "kv_transfer_ms", "", odd);
  figures.at(Figure::kOutputThroughput, Level::kMean) =
      positive_at(node, "output_tokens_per_s", "", odd);
  if (const document::Node* power = map_of(node, "power", odd)) {
    read_power(*power, gpus, figures, odd);
  }
  return figures;
}

}  // namespace ridgeline::evidence::validate
