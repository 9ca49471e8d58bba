#include "plan/cost.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/check.hpp"
#include "core/math.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "latency/power/power_law.hpp"
#include "metrics/power_summary.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "plan/prices.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::plan {
namespace {

/// Mean absolute error of predicted watts over 231 measured points (docs/models/power.md).
constexpr double kErrorOfWatts = 0.111;
constexpr double kSecondsPerHour = 3600.0;
constexpr double kTokensPerMtok = 1e6;
constexpr double kWattsPerKilowatt = 1000.0;
/// What only a slip of the keyboard leaves.
constexpr document::Range<double> kUsdPerKwh{.lowest = 0.0, .highest = 10.0};
constexpr document::Range<double> kPue{.lowest = 1.0, .highest = 5.0};
constexpr document::Range<double> kWatts{.lowest = 0.0, .highest = 10'000.0};

std::string basis_of(const hardware::GpuSpec& gpu) {
  const std::vector<latency::PowerLaw>& laws = latency::power_laws();
  if (std::ranges::find(laws, gpu.name, &latency::PowerLaw::gpu) != laws.end()) {
    return basis::fit(gpu.name);
  }
  const bool has_relative =
      std::ranges::find(laws, gpu.architecture, &latency::PowerLaw::architecture) != laws.end();
  return std::string(has_relative ? basis::kTransfer : basis::kBounds);
}

Estimate facility_of(const Estimate& board, double gpus, const CostWords& words) {
  const double low = words.host_watts_per_gpu.value_or(kLeastHostWatts);
  const double high = words.host_watts_per_gpu.value_or(kMostHostWatts);
  const double host = words.host_watts_per_gpu.value_or(kHostWatts);
  return {.value = (board.value + gpus * host) * words.pue,
          .lo = (board.lo + gpus * low) * words.pue,
          .hi = (board.hi + gpus * high) * words.pue,
          .basis = board.basis};
}

}  // namespace

std::string basis::fit(std::string_view gpu) {
  return fmt::format("fit:{}", gpu);
}

CostWords read_cost(const document::Node& node,
                    const std::string& path,
                    bool wants_prices,
                    core::Errors& errors) {
  CostWords words;
  std::string file;
  bool has_file = false;
  if (!node.is_null()) {
    document::ObjectReader reader(node, path, errors);
    if (const auto given = reader.string("prices")) {
      file = *given;
      has_file = true;
    }
    if (const auto date = reader.string("as_of")) {
      words.as_of = Date::parse(*date);
      if (!words.as_of) {
        reader.problem("as_of",
                       fmt::format("found \"{}\", expected a day such as 2026-05-07", *date));
      }
    }
    words.usd_per_kwh = reader.real("usd_per_kwh", kUsdPerKwh);
    words.pue = reader.real("pue", kPue).value_or(words.pue);
    words.host_watts_per_gpu = reader.real("host_watts_per_gpu", kWatts);
    reader.finish();
  }
  if (has_file || wants_prices) {
    if (auto prices = load_prices(file)) {
      words.prices = std::move(*prices);
    } else {
      const auto found = core::with_field(std::move(prices).error(), path + ".prices");
      errors.insert(errors.end(), found.begin(), found.end());
    }
  }
  return words;
}

std::optional<double> Cost::of(Objective objective) const {
  const auto value_of = [](const std::optional<Estimate>& estimate) {
    return estimate ? std::optional(estimate->value) : std::nullopt;
  };
  switch (objective) {
    case Objective::kGpus:
      return core::real(gpus);
    case Objective::kUsdPerHour:
      return usd_per_hour;
    case Objective::kUsdPerMtok:
      return usd_per_mtok;
    case Objective::kWatts:
      return value_of(watts);
    case Objective::kJoulesPerToken:
      break;
  }
  return value_of(joules_per_token);
}

std::optional<Estimate> board_watts(const hardware::GpuSpec& gpu,
                                    const std::optional<metrics::PowerSummary>& power) {
  if (!(gpu.power_watts > 0.0)) {
    return std::nullopt;
  }
  const double idle = latency::idle_power(gpu);
  std::string from = basis_of(gpu);
  if (!power || from == basis::kBounds) {
    return Estimate{.value = power ? power->mean : (idle + gpu.power_watts) / 2,
                    .lo = idle,
                    .hi = gpu.power_watts,
                    .basis = std::string(basis::kBounds)};
  }
  return Estimate{.value = power->mean,
                  .lo = std::max(power->low * (1.0 - kErrorOfWatts), std::min(idle, power->low)),
                  .hi = std::min(power->high * (1.0 + kErrorOfWatts), gpu.power_watts),
                  .basis = std::move(from)};
}

Cost cost_of(const scenario::Resolved& resolved,
             std::int64_t replicas,
             const CostWords& words,
             const Load& load) {
  RIDGELINE_CHECK(replicas > 0, "a deployment has replicas");
  const scenario::Deployment& deployment = *resolved.deployment;
  Cost cost;
  cost.gpus = deployment.execution.sharding.gpus() * replicas;
  const double gpus = core::real(cost.gpus);
  cost.watts_per_gpu = board_watts(deployment.gpu, load.power);
  if (cost.watts_per_gpu) {
    cost.watts = *cost.watts_per_gpu * gpus;
    cost.facility_watts = facility_of(*cost.watts, gpus, words);
  }
  if (words.prices) {
    if (const Price* price = words.prices->of(deployment.gpu.name)) {
      cost.usd_per_hour = price->usd_per_hour * gpus;
      if (words.usd_per_kwh && cost.facility_watts) {
        *cost.usd_per_hour += cost.facility_watts->value / kWattsPerKilowatt * *words.usd_per_kwh;
      }
    }
  }
  if (load.output_tokens_per_second > 0.0) {
    const double seconds_per_token = 1.0 / load.output_tokens_per_second;
    if (cost.usd_per_hour) {
      cost.usd_per_mtok = *cost.usd_per_hour / kSecondsPerHour * seconds_per_token * kTokensPerMtok;
      cost.usd_per_total_mtok = *cost.usd_per_mtok / load.tokens_per_output_token;
    }
    if (cost.watts) {
      cost.joules_per_token = *cost.watts * seconds_per_token;
      cost.facility_joules_per_token = *cost.facility_watts * seconds_per_token;
    }
  }
  return cost;
}

std::vector<Objective> objectives_of(const std::vector<std::string>& names,
                                     const std::string& field,
                                     const core::Location& where,
                                     core::Errors& errors) {
  std::vector<Objective> objectives;
  for (const std::string& name : names) {
    const auto* const found = std::ranges::find(kObjectiveNames, std::string_view(name));
    if (found == kObjectiveNames.end()) {
      errors.push_back({.field = field,
                        .message = fmt::format(
                            "found \"{}\", expected {}", name, fmt::join(kObjectiveNames, ", ")),
                        .where = where});
      continue;
    }
    const auto objective = static_cast<Objective>(found - kObjectiveNames.begin());
    if (std::ranges::find(objectives, objective) != objectives.end()) {
      errors.push_back({.field = field,
                        .message = fmt::format("found \"{}\" twice, expected it once", name),
                        .where = where});
      continue;
    }
    objectives.push_back(objective);
  }
  return objectives;
}

core::Errors objective_errors(Objective objective,
                              const std::vector<hardware::GpuSpec>& gpus,
                              const CostWords& words,
                              bool accept_bounds) {
  core::Errors errors;
  const std::string_view name = kObjectiveNames[static_cast<std::size_t>(objective)];
  const auto lacks = [&](std::string message, std::string hint) {
    errors.push_back(
        {.field = "objective", .message = std::move(message), .hint = std::move(hint)});
  };
  const auto has_price = [&](const hardware::GpuSpec& gpu) {
    return words.prices && words.prices->of(gpu.name) != nullptr;
  };
  const bool any_price = std::ranges::any_of(gpus, has_price);
  for (const hardware::GpuSpec& gpu : gpus) {
    switch (objective) {
      case Objective::kGpus:
        break;
      case Objective::kUsdPerHour:
      case Objective::kUsdPerMtok:
        if (!has_price(gpu) && any_price) {
          break;
        }
        if (!has_price(gpu)) {
          lacks(fmt::format("{} needs a price of {}", name, gpu.name),
                words.prices ? fmt::format("{} has none: add it, or take another objective",
                                           words.prices->file)
                             : "cost.prices: a file of prices");
        } else if (words.usd_per_kwh && !(gpu.power_watts > 0.0)) {
          lacks(
              fmt::format("the power limit of {} is not known, which usd_per_kwh needs", gpu.name),
              "--set hardware.power_watts=WATTS");
        }
        break;
      case Objective::kWatts:
      case Objective::kJoulesPerToken:
        if (!(gpu.power_watts > 0.0)) {
          lacks(fmt::format("{} needs the power limit of {}, which is not known", name, gpu.name),
                "--set hardware.power_watts=WATTS");
        } else if (!accept_bounds && basis_of(gpu) == basis::kBounds) {
          lacks(fmt::format("{}: no power of a GPU like {} was measured, only bounds are known "
                            "({:.0f} to {:.0f} W)",
                            name,
                            gpu.name,
                            latency::idle_power(gpu),
                            gpu.power_watts),
                "--accept-bounds compares by them");
        }
        break;
    }
  }
  return errors;
}

std::vector<BreakEven> break_evens(const Offer& pick,
                                   const std::vector<Offer>& offers,
                                   const std::optional<Prices>& prices) {
  std::vector<BreakEven> found;
  for (const Offer& offer : offers) {
    if (offer.gpu == pick.gpu) {
      continue;
    }
    const Price* own = prices ? prices->of(pick.gpu) : nullptr;
    const Price* other = prices ? prices->of(offer.gpu) : nullptr;
    double ratio = core::real(offer.gpus) / core::real(pick.gpus);
    if (other != nullptr) {
      ratio += (offer.electricity - pick.electricity) / other->usd_per_hour / core::real(pick.gpus);
    }
    const auto known = std::ranges::find(found, offer.gpu, &BreakEven::against);
    if (known != found.end()) {
      if (ratio < known->ratio) {
        known->ratio = ratio;
        known->row = offer.row;
      }
      continue;
    }
    BreakEven one{.gpu = pick.gpu, .against = offer.gpu, .row = offer.row, .ratio = ratio};
    if (own != nullptr && other != nullptr) {
      one.now = own->usd_per_hour / other->usd_per_hour;
    }
    found.push_back(std::move(one));
  }
  return found;
}

}  // namespace ridgeline::plan
