#include "routing/dynamo_cost.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/math.hpp"

namespace ridgeline::routing {

std::vector<double> dynamo_costs(const std::vector<DynamoWorker>& workers,
                                 std::int64_t prompt_tokens,
                                 const DynamoWeights& weights) {
  std::vector<double> costs;
  fill_dynamo_costs(workers, prompt_tokens, weights, costs);
  return costs;
}

void fill_dynamo_costs(const std::vector<DynamoWorker>& workers,
                       std::int64_t prompt_tokens,
                       const DynamoWeights& weights,
                       std::vector<double>& costs) {
  const double blocks = weights.block_tokens;
  const auto prompt = static_cast<double>(prompt_tokens);
  double least = workers.empty() ? 0.0 : static_cast<double>(workers.front().prefill_tokens);
  for (const DynamoWorker& worker : workers) {
    least = std::min(least, static_cast<double>(worker.prefill_tokens));
  }
  const double prompt_blocks = std::max(1.0, std::ceil(prompt / blocks));
  const bool decays = weights.tracks_prefill && weights.overlap_decay != 0.0;
  costs.clear();
  for (const DynamoWorker& worker : workers) {
    const auto prefill = static_cast<double>(worker.prefill_tokens);
    const double excess = (prefill - least) / blocks;
    const double decay =
        decays ? 1.0 / (1.0 + weights.overlap_decay * excess / prompt_blocks) : 1.0;
    const double credit = weights.overlap_credit * decay * worker.device_blocks +
                          weights.host * worker.host_blocks + weights.disk * worker.disk_blocks +
                          weights.shared * worker.shared_blocks;
    const double request = weights.request * static_cast<double>(worker.requests);
    if (!weights.tracks_prefill) {
      costs.push_back(std::max(0.0, worker.decode_blocks - credit) + request);
      continue;
    }
    const double load = std::max(0.0, (prefill + prompt) / blocks - credit);
    costs.push_back(weights.prefill_scale * load + worker.decode_blocks + request);
  }
}

std::vector<double> dynamo_probabilities(const std::vector<double>& costs, double temperature) {
  const auto [low, high] = std::ranges::minmax(costs);
  std::vector<double> shares;
  double sum = 0.0;
  for (const double cost : costs) {
    const double scaled = high > low ? (cost - low) / (high - low) : 0.0;
    shares.push_back(core::exp(-scaled / temperature));
    sum += shares.back();
  }
  for (double& share : shares) {
    share /= sum;
  }
  return shares;
}

}  // namespace ridgeline::routing
