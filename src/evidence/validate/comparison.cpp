#include "evidence/validate/comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/math.hpp"
#include "core/rng.hpp"
#include "core/statistics/quantiles.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/scores.hpp"
#include "evidence/validate/validate.hpp"

namespace ridgeline::evidence::validate {
namespace {

constexpr std::int64_t kDraws = 1000;
constexpr std::uint64_t kSeed = 1;
constexpr std::array<double, 2> kBounds = {0.025, 0.975};
constexpr int kComparisonSchemaVersion = 1;

/// Absolute errors of one record by all models, and the server that it is of.
struct Errors {
  std::string server;
  std::vector<double> signed_pct;  ///< By model.
};

/// Runs of one server share errors: they are drawn together.
std::string server_of(const Evidence& evidence) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}",
                     evidence.file,
                     evidence.run,
                     evidence.model,
                     evidence.gpu,
                     evidence.tensor_parallel,
                     evidence.engine_version,
                     evidence.workload);
}

std::vector<Errors> errors_of(const ScoreGroup& group,
                              const std::vector<ModelScores>& models,
                              Figure figure) {
  std::vector<Errors> all;
  const ScoredRecord* const begin = models.front().validation.records.data();
  for (const ScoredRecord* record : group.records) {
    const auto place = static_cast<std::size_t>(record - begin);
    Errors errors{.server = server_of(record->evidence), .signed_pct = {}};
    for (const ModelScores& model : models) {
      const auto error = model.validation.records[place].error_pct(figure, Level::kMean);
      if (error) {
        errors.signed_pct.push_back(*error);
      }
    }
    if (errors.signed_pct.size() == models.size()) {
      all.push_back(std::move(errors));
    }
  }
  return all;
}

/// How much nearer `to` is than `from`, by servers; by records where all are of one.
std::vector<ServerGain> gains_of(const std::vector<Errors>& errors,
                                 std::size_t from,
                                 std::size_t to,
                                 bool by_records) {
  std::map<std::string, ServerGain> servers;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const std::string name = by_records ? fmt::format("{:09}", i) : errors[i].server;
    ServerGain& server = servers[name];
    server.sum += std::abs(errors[i].signed_pct[from]) - std::abs(errors[i].signed_pct[to]);
    ++server.runs;
  }
  std::vector<ServerGain> gains;
  for (const auto& [name, gain] : servers) {
    gains.push_back(gain);
  }
  return gains;
}

ComparedRow compared(const std::vector<Errors>& errors, std::size_t models) {
  ComparedRow row;
  row.records = std::ssize(errors);
  row.models.resize(models);
  const double count = core::real(row.records);
  for (const Errors& one : errors) {
    double least = std::numeric_limits<double>::infinity();
    std::vector<std::size_t> nearest;
    for (std::size_t m = 0; m < models; ++m) {
      const double error = std::abs(one.signed_pct[m]);
      row.models[m].mean_abs += error / count;
      row.models[m].mean_signed += one.signed_pct[m] / count;
      if (error < least) {
        nearest.clear();
      }
      if (error <= least) {
        least = error;
        nearest.push_back(m);
      }
    }
    if (nearest.size() == 1) {
      ++row.models[nearest.front()].nearest;
    }
  }
  row.servers = std::ssize(gains_of(errors, 0, 0, false));
  const bool by_records = row.servers < 2;
  for (std::size_t m = 1; m < models; ++m) {
    row.models[m].gain = row.models.front().mean_abs - row.models[m].mean_abs;
    row.models[m].interval = bootstrap(gains_of(errors, 0, m, by_records));
  }
  const auto best = static_cast<std::size_t>(
      std::ranges::min_element(row.models, {}, &ModelErrors::mean_abs) - row.models.begin());
  bool is_clear = true;
  for (std::size_t m = 0; m < models; ++m) {
    if (m != best) {
      const auto interval = bootstrap(gains_of(errors, m, best, by_records));
      is_clear = is_clear && interval && interval->low > 0.0;
    }
  }
  if (is_clear) {
    row.clear_winner = best;
  }
  return row;
}

}  // namespace

std::optional<PointInterval> bootstrap(const std::vector<ServerGain>& servers) {
  if (servers.size() < 2) {
    return std::nullopt;
  }
  std::vector<double> means;
  for (std::int64_t draw = 0; draw < kDraws; ++draw) {
    core::RngStream rng(kSeed, 0, "study bootstrap", static_cast<std::uint64_t>(draw));
    ServerGain drawn;
    for (std::size_t i = 0; i < servers.size(); ++i) {
      const ServerGain& server = servers[rng.below(servers.size())];
      drawn.sum += server.sum;
      drawn.runs += server.runs;
    }
    means.push_back(drawn.sum / core::real(drawn.runs));
  }
  std::ranges::sort(means);
  return PointInterval{.low = statistics::sorted_quantile(means, kBounds[0]),
                       .high = statistics::sorted_quantile(means, kBounds[1])};
}

std::vector<ComparedRow> compare_models(const std::vector<ModelScores>& models,
                                        const std::vector<std::vector<std::string>>& axes) {
  std::vector<ComparedRow> rows;
  std::vector<std::vector<std::string>> all = {{"all"}};
  all.insert(all.end(), axes.begin(), axes.end());
  for (const auto& crossed : all) {
    for (const ScoreGroup& group : groups_by(models.front().validation.records, crossed)) {
      for (std::size_t i = 0; i < kNumFigures; ++i) {
        const auto figure = static_cast<Figure>(i);
        const auto errors = errors_of(group, models, figure);
        if (errors.empty()) {
          continue;
        }
        ComparedRow row = compared(errors, models.size());
        row.axis = fmt::format("{}", fmt::join(crossed, ", "));
        row.value = group.value;
        row.figure = figure;
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

document::Node comparison_tree(const std::vector<ModelScores>& models,
                               const std::vector<ComparedRow>& rows) {
  using document::list_node;
  using document::MapBuilder;
  using document::Node;
  std::vector<std::string> names;
  for (const ModelScores& model : models) {
    names.push_back(model.model);
  }
  std::vector<Node> compared_rows;
  for (const ComparedRow& row : rows) {
    std::vector<Node> cells;
    for (std::size_t m = 0; m < models.size(); ++m) {
      const ModelErrors& errors = row.models[m];
      MapBuilder map;
      map.add("model", names[m])
          .add("mean_abs_pct", errors.mean_abs)
          .add("mean_signed_pct", errors.mean_signed)
          .add("nearest", errors.nearest);
      if (m > 0) {
        map.add("gain_points", errors.gain);
        if (errors.interval) {
          map.add("low_95", errors.interval->low).add("high_95", errors.interval->high);
        }
      }
      cells.push_back(map);
    }
    compared_rows.push_back(
        MapBuilder()
            .add("axis", row.axis)
            .add("value", row.value)
            .add("metric", kFigureNames[static_cast<std::size_t>(row.figure)])
            .add("records", row.records)
            .add("servers", row.servers)
            .add("models", list_node(std::move(cells)))
            .add("clear_winner",
                 row.clear_winner ? Node::string(names[*row.clear_winner], {}) : Node()));
  }
  std::vector<Node> records;
  const auto& first = models.front().validation.records;
  for (std::size_t i = 0; i < first.size(); ++i) {
    MapBuilder errors;
    for (const ModelScores& model : models) {
      MapBuilder figures;
      for (std::size_t f = 0; f < kNumFigures; ++f) {
        figures.add_known(
            kFigureNames[f],
            model.validation.records[i].error_pct(static_cast<Figure>(f), Level::kMean));
      }
      errors.add(model.model, figures);
    }
    records.push_back(
        MapBuilder()
            .add("id", first[i].evidence.id)
            .add("standing", kStandingNames[static_cast<std::size_t>(first[i].standing)])
            .add("reason", document::text_or_null(first[i].reason))
            .add("assumed", first[i].evidence.assumed)
            .add("error_pct", errors));
  }
  return MapBuilder()
      .add("schema_version", kComparisonSchemaVersion)
      .add("models", names)
      .add("comparison", list_node(std::move(compared_rows)))
      .add("records", list_node(std::move(records)));
}

}  // namespace ridgeline::evidence::validate
