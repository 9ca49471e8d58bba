#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "metrics/power_summary.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "plan/prices.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::plan {

/// What a plan makes small.
enum class Objective : std::uint8_t { kGpus, kUsdPerHour, kUsdPerMtok, kWatts, kJoulesPerToken };
inline constexpr std::array<std::string_view, 5> kObjectiveNames = {
    "gpus", "usd_per_hour", "usd_per_mtok", "watts", "joules_per_token"};

/// The objectives of that name; unknown ones and those given twice are noted, of `field`.
[[nodiscard]] std::vector<Objective> objectives_of(const std::vector<std::string>& names,
                                                   const std::string& field,
                                                   const core::Location& where,
                                                   core::Errors& errors);

/// Where power figures come from.
namespace basis {
/// "fit:h100": a law measured on this GPU.
[[nodiscard]] std::string fit(std::string_view gpu);
/// Laws of other GPUs, one of them of the same architecture.
inline constexpr std::string_view kTransfer = "transfer";
/// Between idle and the board's power limit, and no more is known.
inline constexpr std::string_view kBounds = "tdp-bounds";
}  // namespace basis

/// A figure, the interval around it, and where it comes from.
struct Estimate {
  double value = 0.0;
  double lo = 0.0;
  double hi = 0.0;
  std::string basis = {};

  friend Estimate operator*(const Estimate& estimate, double factor) {
    return {estimate.value * factor, estimate.lo * factor, estimate.hi * factor, estimate.basis};
  }
};

/// The block `cost` of a plan.
struct CostWords {
  std::optional<Prices> prices = {};  ///< Absent where no objective needs any and none are given.
  std::optional<Date> as_of = {};     ///< The day at which prices are judged old.
  /// Electricity, added to the price of the GPUs: for owned ones. Rents include it.
  std::optional<double> usd_per_kwh = {};
  double pue = 1.2;  ///< Power of the facility by that of the machines.
  std::optional<double> host_watts_per_gpu = {};  ///< Default: kHostWatts.
};

/// Power of the machine beside its GPU boards, per GPU. A DGX H100 draws 10.2 kW at most, of which
/// 5.6 are GPUs (NVIDIA's datasheet): 575 W each; 100 is a host with little to do.
inline constexpr double kHostWatts = 200.0;
inline constexpr double kLeastHostWatts = 100.0;
inline constexpr double kMostHostWatts = 575.0;

/// Reads a block {prices, as_of, usd_per_kwh, pue, host_watts_per_gpu}; problems are noted under
/// `path`. Price lists are read at once; where `wants_prices` and none is named, the example is.
[[nodiscard]] CostWords read_cost(const document::Node& node,
                                  const std::string& path,
                                  bool wants_prices,
                                  core::Errors& errors);

/// What a deployment does at the rate that is planned.
struct Load {
  double output_tokens_per_second = 0.0;            ///< All replicas.
  double tokens_per_output_token = 1.0;             ///< Prompt and output tokens.
  std::optional<metrics::PowerSummary> power = {};  ///< As simulated at that rate, of one GPU.
};

/// What a deployment costs.
struct Cost {
  std::int64_t gpus = 0;
  std::optional<double> usd_per_hour = {};  ///< Absent without a price for its GPU.
  std::optional<double> usd_per_mtok = {};  ///< Per million output tokens, at the rate planned.
  std::optional<double> usd_per_total_mtok = {};  ///< Per million input and output tokens together.
  std::optional<Estimate> watts_per_gpu = {};  ///< The board's power; absent without a known limit.
  std::optional<Estimate> watts = {};          ///< All boards.
  std::optional<Estimate> facility_watts = {};    ///< Boards and hosts, times the PUE.
  std::optional<Estimate> joules_per_token = {};  ///< Boards, per output token.
  std::optional<Estimate> facility_joules_per_token = {};

  [[nodiscard]] std::optional<double> of(Objective objective) const;
};

/// Cost of `replicas` of a deployment. Electricity is in usd_per_hour where CostWords::usd_per_kwh
/// is.
[[nodiscard]] Cost cost_of(const scenario::Resolved& resolved,
                           std::int64_t replicas,
                           const CostWords& words,
                           const Load& load);
/// Watts of one board. Without a simulated figure, or where no law of its architecture is known,
/// the bounds: idle to the power limit. Nothing where the limit is not known.
[[nodiscard]] std::optional<Estimate> board_watts(
    const hardware::GpuSpec& gpu, const std::optional<metrics::PowerSummary>& power);

/// Why these GPUs cannot be compared by an objective: no price of any, no power limit, or bounds
/// alone where `accept_bounds` is false. One error per GPU that lacks it. Where some have a price,
/// the others are no error: they are listed apart.
[[nodiscard]] core::Errors objective_errors(Objective objective,
                                            const std::vector<hardware::GpuSpec>& gpus,
                                            const CostWords& words,
                                            bool accept_bounds);

/// To turn dollars per hour into dollars per month: 365 days by 12.
inline constexpr double kHoursPerMonth = 730.0;

/// A deployment that is sure enough, as the break-even sees it.
struct Offer {
  std::size_t row = 0;
  std::string gpu = {};
  std::int64_t gpus = 0;
  double electricity = 0.0;  ///< Dollars per hour beside the price of the GPUs.
};
/// Up to which ratio of prices, GPU of the pick by the other GPU, the pick stays the cheapest.
struct BreakEven {
  std::string gpu = {};
  std::string against = {};
  std::size_t row = 0;  ///< What is as cheap at that ratio.
  double ratio = 0.0;
  std::optional<double> now = {};  ///< By the prices given.
};
/// One per other GPU with an offer, in the order of the offers; the offer with the fewest GPUs
/// counts. Electricity moves the ratio where prices are known.
[[nodiscard]] std::vector<BreakEven> break_evens(const Offer& pick,
                                                 const std::vector<Offer>& offers,
                                                 const std::optional<Prices>& prices);

}  // namespace ridgeline::plan
