#include "plan/objectives.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "plan/cost.hpp"
#include "plan/members.hpp"
#include "plan/question.hpp"

namespace ridgeline::plan {
namespace {

using document::Node;

/// The objectives that are named.
std::vector<Objective> named_objectives(const AimWords& said, core::Errors& errors) {
  const auto& flag = said.words.objective;
  std::optional<Node> stated = said.objective;
  core::Location where{.file = kFlags};
  if (flag) {
    auto node = document::parse_yaml(fmt::format("[{}]", *flag), kFlags);
    stated = node ? *node : flag_node(*flag);
  } else if (stated) {
    where = stated->where();
  }
  std::vector<std::string> names;
  if (stated) {
    for (const Node& item : stated->is_list() ? stated->items() : std::vector<Node>{*stated}) {
      names.push_back(item.is_string() ? item.as_string() : item.describe());
    }
  }
  return objectives_of(names, flag ? "--objective" : "objective", where, errors);
}

bool wants_prices(const Question& question) {
  return std::ranges::any_of(question.objectives, [](Objective objective) {
    return objective == Objective::kUsdPerHour || objective == Objective::kUsdPerMtok;
  });
}

CostWords read_costs(const AimWords& said, const Question& question, core::Errors& errors) {
  const bool is_map = said.cost && said.cost->is_map();
  Members cost(is_map ? said.cost->members() : std::vector<Node::Member>{});
  if (said.cost && !is_map) {
    errors.push_back({.field = "cost",
                      .message = fmt::format("found {}, expected a map", said.cost->describe()),
                      .where = said.cost->where(),
                      .hint = "cost: {prices: prices.yaml}"});
  }
  if (said.words.prices) {
    cost.set("prices", flag_node(*said.words.prices));
  }
  return read_cost(cost.empty() ? Node() : cost.map(), "cost", wants_prices(question), errors);
}

void warn_of_unpriced(Question& question) {
  if (!question.cost.prices || !wants_prices(question)) {
    return;
  }
  std::vector<std::string> unpriced;
  for (const hardware::GpuSpec& gpu : question.gpus) {
    if (question.cost.prices->of(gpu.name) == nullptr) {
      unpriced.push_back(gpu.name);
    }
  }
  if (!unpriced.empty()) {
    question.warnings.push_back(
        {.code = "W-no-price",
         .message = fmt::format(
             "{} has no price of {}: {}",
             question.cost.prices->file,
             fmt::join(unpriced, ", "),
             question.classes.empty() ? "listed apart, by number of GPUs" : "left out of the mix"),
         .hint = "--prices FILE"});
  }
}

}  // namespace

void read_aims(const AimWords& said, Question& question, core::Errors& errors) {
  question.objectives = named_objectives(said, errors);
  if (!errors.empty()) {
    return;
  }
  // With prices named, money is meant.
  const bool names_prices =
      said.words.prices || (said.cost && said.cost->find("prices") != nullptr);
  const bool by_default = question.objectives.empty() && !names_prices && !question.most_of;
  if (question.objectives.empty()) {
    question.objectives = {question.most_of ? Objective::kGpus : Objective::kUsdPerHour};
  }
  question.cost = read_costs(said, question, errors);
  if (!errors.empty()) {
    return;
  }
  for (const Objective objective : question.objectives) {
    core::Errors lacking =
        objective_errors(objective, question.gpus, question.cost, question.accept_bounds);
    if (by_default && !lacking.empty()) {
      question.objectives = {Objective::kGpus};
      question.cost.prices.reset();
      question.warnings.push_back(
          {.code = "W-objective",
           .message = fmt::format("{}: the fewest GPUs are looked for, whatever they cost",
                                  lacking.front().message),
           .hint = "--prices FILE, or --objective gpus"});
      break;
    }
    errors.insert(errors.end(), lacking.begin(), lacking.end());
  }
  warn_of_unpriced(question);
}

}  // namespace ridgeline::plan
