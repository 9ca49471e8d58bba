#include "plan/mix.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/math.hpp"
#include "core/result.hpp"
#include "plan/integer_program.hpp"

namespace ridgeline::plan {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::max();
/// Costs this near are equal: Cbc's own tolerance is 1e-7.
constexpr double kSameCost = 1e-6;
/// A GPU fewer counts more than any order of offers.
constexpr double kOrder = 1e-4;

/// Columns: replicas of each offer, then the shares of each offer by class.
class Program {
 public:
  explicit Program(const MixQuestion& question) : question_(question) {
    const std::size_t classes = question.rates.size();
    for (const MixOffer& offer : question.offers) {
      RIDGELINE_CHECK(offer.capacity.size() == classes, "a capacity for each class");
      program_.columns.push_back(
          {.cost = offer.cost, .highest = most_replicas(offer), .is_integer = true});
    }
    for (const MixOffer& offer : question.offers) {
      for (std::size_t c = 0; c < classes; ++c) {
        program_.columns.push_back({.highest = offer.capacity[c] > 0.0 ? 1.0 : 0.0});
      }
    }
    for (std::size_t c = 0; c < classes; ++c) {
      IntegerProgram::Row served{.lowest = 1.0, .highest = 1.0};
      for (std::size_t i = 0; i < question.offers.size(); ++i) {
        served.terms.emplace_back(share(i, c), 1.0);
      }
      program_.rows.push_back(std::move(served));
    }
    for (std::size_t i = 0; i < question.offers.size(); ++i) {
      IntegerProgram::Row busy{.lowest = -kUnbounded, .highest = 0.0, .terms = {{i, -1.0}}};
      for (std::size_t c = 0; c < classes; ++c) {
        if (question.offers[i].capacity[c] > 0.0) {
          busy.terms.emplace_back(share(i, c), question.rates[c] / question.offers[i].capacity[c]);
        }
      }
      program_.rows.push_back(std::move(busy));
    }
    limit_gpus();
  }

  [[nodiscard]] std::size_t share(std::size_t offer, std::size_t of_class) const {
    return question_.offers.size() + offer * question_.rates.size() + of_class;
  }
  [[nodiscard]] const IntegerProgram& program() const { return program_; }

  /// From here on, of what costs no more than `cost`: the fewest GPUs, then the earlier offers.
  void prefer_few_gpus(double cost) {
    IntegerProgram::Row no_more{.lowest = -kUnbounded, .highest = cost * (1.0 + kSameCost)};
    for (std::size_t i = 0; i < question_.offers.size(); ++i) {
      no_more.terms.emplace_back(i, question_.offers[i].cost);
      program_.columns[i].cost =
          core::real(question_.offers[i].gpus) + kOrder * core::real(static_cast<std::int64_t>(i));
    }
    program_.rows.push_back(std::move(no_more));
  }

 private:
  /// As many as would serve all classes alone: more than that never helps.
  [[nodiscard]] double most_replicas(const MixOffer& offer) const {
    double busy = 0.0;
    for (std::size_t c = 0; c < question_.rates.size(); ++c) {
      busy += offer.capacity[c] > 0.0 ? question_.rates[c] / offer.capacity[c] : 0.0;
    }
    return std::ceil(busy);
  }

  void limit_gpus() {
    const auto limit = [&](std::int64_t most, const auto& counts) {
      IntegerProgram::Row row{.lowest = -kUnbounded, .highest = core::real(most)};
      for (std::size_t i = 0; i < question_.offers.size(); ++i) {
        if (counts(question_.offers[i])) {
          row.terms.emplace_back(i, core::real(question_.offers[i].gpus));
        }
      }
      program_.rows.push_back(std::move(row));
    };
    if (question_.max_gpus) {
      limit(*question_.max_gpus, [](const MixOffer&) { return true; });
    }
    for (const auto& entry : question_.stock) {
      limit(entry.second, [&](const MixOffer& offer) { return offer.gpu == entry.first; });
    }
  }

  const MixQuestion& question_;
  IntegerProgram program_;
};

double cost_of_values(const MixQuestion& question, const std::vector<double>& values) {
  double cost = 0.0;
  for (std::size_t i = 0; i < question.offers.size(); ++i) {
    cost += std::round(values[i]) * question.offers[i].cost;
  }
  return cost;
}

}  // namespace

core::Result<std::optional<Mix>> cheapest_mix(const MixQuestion& question) {
  Program program(question);
  auto cheapest = solve(program.program());
  if (!cheapest) {
    return core::fail(std::move(cheapest).error());
  }
  if (!*cheapest) {
    return std::optional<Mix>();
  }
  program.prefer_few_gpus(cost_of_values(question, **cheapest));
  const auto fewest = solve(program.program());
  RIDGELINE_CHECK(fewest && *fewest, "what was solved can be solved again");
  const std::vector<double>& values = **fewest;
  Mix mix;
  mix.cost = cost_of_values(question, values);
  for (std::size_t i = 0; i < question.offers.size(); ++i) {
    mix.replicas.push_back(static_cast<std::int64_t>(std::llround(values[i])));
    std::vector<double> shares;
    for (std::size_t c = 0; c < question.rates.size(); ++c) {
      shares.push_back(std::clamp(values[program.share(i, c)], 0.0, 1.0));
    }
    mix.shares.push_back(std::move(shares));
  }
  return std::optional(std::move(mix));
}

}  // namespace ridgeline::plan
