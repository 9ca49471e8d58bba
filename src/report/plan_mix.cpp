#include "report/plan_mix.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "metrics/slo.hpp"
#include "plan/cost.hpp"
#include "plan/target.hpp"
#include "report/format.hpp"
#include "report/plan_nodes.hpp"
#include "report/table/grid.hpp"
#include "report/text_lines.hpp"
#include "report/warning_lines.hpp"

namespace ridgeline::report {
namespace {

using document::list_node;
using document::list_of;
using document::MapBuilder;
using document::number_node;
using document::text_node;
using document::text_or_null;

using document::Node;
using plan::MixAnswer;
using plan::MixCandidate;
using plan::MixPool;

constexpr std::int64_t kMixSchemaVersion = 1;

bool counts_gpus(const MixAnswer& answer) {
  return answer.question.objectives.front() == plan::Objective::kGpus;
}

std::string cost_text(const MixAnswer& answer, double cost) {
  return counts_gpus(answer) ? fmt::format("{:.0f} GPUs", cost) : fmt::format("{:.2f} USD/h", cost);
}

std::string replicas_text(std::int64_t replicas, const std::string& label, bool ascii) {
  return fmt::format("{} {} {}", replicas, ascii ? "x" : "×", label);
}

std::string mix_headline(const MixAnswer& answer, bool ascii) {
  std::vector<std::string> classes;
  for (std::size_t c = 0; c < answer.rates.size(); ++c) {
    classes.push_back(
        fmt::format("{} {:.4g} req/s", answer.question.classes[c].name, answer.rates[c]));
  }
  std::vector<std::string> targets;
  for (const plan::Target& target : answer.question.slo.targets) {
    targets.push_back(target.text());
  }
  return fmt::format("{}; {}; {} at {} {:.3g} %",
                     fmt::join(classes, ", "),
                     fmt::join(targets, ", "),
                     counts_gpus(answer) ? "fewest GPUs" : "least USD/h",
                     ascii ? ">=" : "≥",
                     answer.question.confidence * 100.0);
}

std::string mix_grid(const MixAnswer& answer, const TextStyle& style) {
  std::vector<Grid::Column> columns = {{.title = ""},
                                       {.title = "pool", .left = true},
                                       {.title = "GPUs"},
                                       {.title = counts_gpus(answer) ? "" : "USD/h"},
                                       {.title = "serves", .left = true},
                                       {.title = "req/s"}};
  for (const plan::Target& target : answer.question.slo.targets) {
    columns.push_back(
        {.title =
             target.is_attainment
                 ? "over"
                 : fmt::format("{} {}",
                               metrics::kStatisticNames[static_cast<std::size_t>(target.statistic)],
                               target.name())});
  }
  columns.push_back({.title = "sure"});
  Grid grid(std::move(columns));
  for (std::size_t i = 0; i < answer.pools.size(); ++i) {
    const MixPool& pool = answer.pools[i];
    const MixCandidate& candidate = answer.candidates[pool.candidate];
    std::vector<std::string> cells = {
        fmt::format("{}", i + 1),
        replicas_text(pool.replicas, candidate.label, style.ascii),
        fmt::format("{}", pool.replicas * candidate.gpus),
        counts_gpus(answer)
            ? ""
            : fmt::format("{:.2f}", static_cast<double>(pool.replicas) * candidate.cost),
        served_text(answer, pool),
        significant(pool.rate)};
    for (const plan::TargetResult& result : pool.targets) {
      cells.push_back(result.value_ms ? fmt::format("{} ms", significant(result.value_ms->value))
                                      : percent(result.exceed_share));
    }
    cells.resize(6 + answer.question.slo.targets.size());
    cells.push_back(candidate.bound.empty() ? fmt::format("{:.0f} %", pool.p_feasible * 100.0)
                                            : "at best");
    grid.add(std::move(cells));
  }
  constexpr std::array<std::size_t, 2> kShrinkable = {1, 4};
  return grid.render(style, kShrinkable);
}

Node numbers_node(const std::vector<double>& numbers) {
  std::vector<Node> items;
  items.reserve(numbers.size());
  for (const double number : numbers) {
    items.push_back(number_node(number));
  }
  return list_node(std::move(items));
}

Node pool_node(const MixAnswer& answer, const MixPool& pool) {
  const MixCandidate& candidate = answer.candidates[pool.candidate];
  return MapBuilder()
      .add("deployment", candidate.label)
      .add("gpu", candidate.gpu)
      .add("replicas", pool.replicas)
      .add("gpus", pool.replicas * candidate.gpus)
      .add("cost", static_cast<double>(pool.replicas) * candidate.cost)
      .add("shares", numbers_node(pool.shares))
      .add("rate_rps", pool.rate)
      .add("p_feasible", candidate.bound.empty() ? std::optional(pool.p_feasible) : std::nullopt)
      .add("bound", text_or_null(candidate.bound))
      .add("slo",
           list_of(pool.targets,
                   [&](const plan::TargetResult& result) -> document::Node {
                     return MapBuilder()
                         .add("target", answer.question.slo.targets[result.target].text())
                         .add(
                             "value",
                             result.value_ms ? std::optional(result.value_ms->value) : std::nullopt)
                         .add("exceed_share", result.exceed_share)
                         .add("verdict", result.met ? "met" : "missed");
                   }))
      .add("certificate",
           MapBuilder()
               .add("windows", pool.certificate.windows)
               .add("passed", pool.certificate.passed)
               .add("window_requests", pool.certificate.window_requests)
               .add("at_least", pool.certificate.at_least)
               .add("holds", pool.certificate.holds));
}

Node mix_answer_node(const MixAnswer& answer, const std::vector<std::string>& files) {
  std::vector<Node> pools;
  for (const MixPool& pool : answer.pools) {
    pools.push_back(pool_node(answer, pool));
  }
  MapBuilder map;
  map.add("cost",
          answer.failure.empty() && !answer.partial ? std::optional(answer.cost) : std::nullopt)
      .add("pools", list_node(std::move(pools)))
      .add("files", files)
      .add("failure", text_or_null(answer.failure));
  if (answer.alone) {
    map.add("alone",
            MapBuilder()
                .add("deployment", answer.candidates[answer.alone->candidate].label)
                .add("replicas", answer.alone->replicas)
                .add("cost", answer.alone->cost));
  } else {
    map.add("alone", Node::null({}));
  }
  return map.build();
}

Node classes_node(const MixAnswer& answer) {
  std::vector<Node> items;
  for (std::size_t c = 0; c < answer.rates.size(); ++c) {
    items.push_back(MapBuilder()
                        .add("name", answer.question.classes[c].name)
                        .add("rate_rps", answer.rates[c])
                        .add("workload", answer.question.classes[c].workload));
  }
  return list_node(std::move(items));
}

}  // namespace

std::string served_text(const MixAnswer& answer, const MixPool& pool) {
  std::vector<std::string> serves;
  for (std::size_t c = 0; c < pool.shares.size(); ++c) {
    if (pool.shares[c] > 0.0) {
      serves.push_back(
          fmt::format("{:.0f} % of {}", pool.shares[c] * 100.0, answer.question.classes[c].name));
    }
  }
  return fmt::format("{}", fmt::join(serves, ", "));
}

std::string mix_table(const MixAnswer& answer,
                      const TextStyle& style,
                      const std::vector<std::string>& files) {
  LineLayout layout = sentence_layout(style);
  layout.separator = " ";
  std::string text = wrapped("", words(mix_headline(answer, style.ascii)), layout) + "\n";
  if (answer.partial) {
    return text + "Interrupted before the mix was certified.\n";
  }
  if (!answer.pools.empty()) {
    text += mix_grid(answer, style) + "\n";
  }
  if (!answer.failure.empty()) {
    text += wrapped("", words(answer.failure), layout);
  } else {
    std::string compared = fmt::format("mix {}", cost_text(answer, answer.cost));
    if (answer.alone) {
      compared += fmt::format("; one deployment for all classes, by the same estimate: {}, {}",
                              replicas_text(answer.alone->replicas,
                                            answer.candidates[answer.alone->candidate].label,
                                            style.ascii),
                              cost_text(answer, answer.alone->cost));
    }
    text += wrapped("", words(compared), layout);
    for (std::size_t i = 0; i < answer.pools.size(); ++i) {
      const std::string& bound = answer.candidates[answer.pools[i].candidate].bound;
      if (!bound.empty()) {
        text += wrapped("", words(fmt::format("pool {} at best: {}", i + 1, bound)), layout);
      }
    }
  }
  text += wrapped(
      "",
      words(fmt::format("{} compared, {} simulated",
                        counted(static_cast<std::int64_t>(answer.candidates.size()), "deployment"),
                        counted(answer.requests_simulated, "request"))),
      layout);
  if (!files.empty()) {
    text += "\n";
    for (const std::string& file : files) {
      text += printable(file, style.ascii) + "\n";
    }
  }
  if (!answer.warnings.empty()) {
    text += "\n" + warning_lines(answer.warnings, style);
  }
  return text;
}

Node mix_tree(const MixAnswer& answer,
              const PlanRunInfo& info,
              const std::vector<std::string>& files) {
  std::vector<Node> candidates;
  for (const MixCandidate& candidate : answer.candidates) {
    candidates.push_back(MapBuilder()
                             .add("deployment", candidate.label)
                             .add("gpu", candidate.gpu)
                             .add("gpus", candidate.gpus)
                             .add("cost", candidate.cost)
                             .add("capacity_rps", numbers_node(candidate.capacity))
                             .add("sure_rps", numbers_node(candidate.sure)));
  }
  return MapBuilder()
      .add("schema_version", kMixSchemaVersion)
      .add("run_info", plan_run_info_node(info))
      .add("config", plan_config_node(answer.question.base, answer.question.axes, answer.engine))
      .add("question",
           MapBuilder()
               .add("classes", classes_node(answer))
               .add("slo",
                    list_of(answer.question.slo.targets,
                            [&](const plan::Target& target) -> document::Node {
                              return text_node(target.text());
                            }))
               .add("confidence", answer.question.confidence)
               .add("objective", counts_gpus(answer) ? "gpus" : "usd_per_hour"))
      .add("mix", mix_answer_node(answer, files))
      .add("candidates", list_node(std::move(candidates)))
      .add("requests_simulated", answer.requests_simulated)
      .add("partial", answer.partial)
      .add("warnings", answer.warnings)
      .add("digest", answer.digest);
}

}  // namespace ridgeline::report
