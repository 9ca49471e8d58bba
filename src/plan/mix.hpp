#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace ridgeline::plan {

/// A deployment that a mix may hold, and how much of each class of requests one replica serves.
struct MixOffer {
  std::string gpu = {};
  std::int64_t gpus = 1;  ///< GPUs of one replica.
  double cost = 0.0;      ///< Cost of one replica, in the unit of the objective.
  /// Requests per second of each class alone that one replica serves within the targets; 0: none
  /// meets them.
  std::vector<double> capacity = {};
};

/// Requests by class: of which lengths, and how many.
struct MixQuestion {
  std::vector<double> rates = {};  ///< Requests per second of each class; all above 0.
  std::vector<MixOffer> offers = {};
  std::optional<std::int64_t> max_gpus = {};
  std::vector<std::pair<std::string, std::int64_t>> stock = {};  ///< GPUs to be had, by GPU.
};

struct Mix {
  double cost = 0.0;
  std::vector<std::int64_t> replicas = {};  ///< Replicas of each offer.
  /// For each offer, then class: the share of the class's requests that it serves.
  std::vector<std::vector<double>> shares = {};
};

/// The cheapest number of replicas of each offer such that every class is served: shares x_ic >= 0
/// with sum_i x_ic = 1 for each class c and sum_c x_ic rate_c / capacity_ic <= replicas_i for each
/// offer i, within the GPUs to be had. Classes on one replica are taken to share its time in
/// proportion (Mélange, arXiv 2404.14527); what shares a GPU in truth is the run's to say. Solved
/// by Cbc, which is loaded when it is first asked for. Nothing where no numbers serve all classes;
/// an error where Cbc is not installed. Of equal costs, the one with the fewest GPUs, then the one
/// with more of the earlier offers.
[[nodiscard]] core::Result<std::optional<Mix>> cheapest_mix(const MixQuestion& question);

}  // namespace ridgeline::plan
