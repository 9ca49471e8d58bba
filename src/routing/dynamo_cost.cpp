#include "routing/dynamo_cost.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/math.hpp"
#include "routing/scorers/columns.hpp"

namespace ridgeline::routing {

namespace {

/// Adds `weight` times a row, where there is one.
void add(std::vector<double>& sums, const std::vector<double>& row, double weight) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    sums[i] += weight * row[i];
  }
}

/// What overlap on the GPU saves, in blocks.
void fill_device_credit(const DynamoColumns& workers,
                        double prompt_tokens,
                        const DynamoWeights& weights,
                        std::vector<double>& credit) {
  const std::size_t size = workers.prefill_tokens.size();
  if (workers.device_blocks.empty()) {
    credit.assign(size, 0.0);
    return;
  }
  credit.resize(size);
  if (!weights.tracks_prefill || weights.overlap_decay == 0.0) {
    for (std::size_t i = 0; i < size; ++i) {
      credit[i] = weights.overlap_credit * workers.device_blocks[i];
    }
    return;
  }
  const double least = extent_of(workers.prefill_tokens).lowest;
  const double prompt_blocks = std::max(1.0, std::ceil(prompt_tokens / weights.block_tokens));
  for (std::size_t i = 0; i < size; ++i) {
    const double excess = (workers.prefill_tokens[i] - least) / weights.block_tokens;
    const double decay = 1.0 / (1.0 + weights.overlap_decay * excess / prompt_blocks);
    credit[i] = weights.overlap_credit * decay * workers.device_blocks[i];
  }
}

}  // namespace

std::vector<double> dynamo_costs(const std::vector<DynamoWorker>& workers,
                                 std::int64_t prompt_tokens,
                                 const DynamoWeights& weights) {
  DynamoColumns columns;
  for (const DynamoWorker& worker : workers) {
    columns.device_blocks.push_back(worker.device_blocks);
    columns.host_blocks.push_back(worker.host_blocks);
    columns.disk_blocks.push_back(worker.disk_blocks);
    columns.shared_blocks.push_back(worker.shared_blocks);
    columns.prefill_tokens.push_back(static_cast<double>(worker.prefill_tokens));
    columns.decode_blocks.push_back(worker.decode_blocks);
    columns.requests.push_back(static_cast<double>(worker.requests));
  }
  std::vector<double> costs;
  fill_dynamo_costs(columns, prompt_tokens, weights, costs);
  return costs;
}

void fill_dynamo_costs(const DynamoColumns& workers,
                       std::int64_t prompt_tokens,
                       const DynamoWeights& weights,
                       std::vector<double>& costs) {
  const auto prompt = static_cast<double>(prompt_tokens);
  fill_device_credit(workers, prompt, weights, costs);
  add(costs, workers.host_blocks, weights.host);
  add(costs, workers.disk_blocks, weights.disk);
  add(costs, workers.shared_blocks, weights.shared);
  // Each cost from the credit that stands in its place.
  const std::size_t size = costs.size();
  for (std::size_t i = 0; weights.tracks_prefill && i < size; ++i) {
    const double tokens = workers.prefill_tokens[i] + prompt;
    const double load = std::max(0.0, tokens / weights.block_tokens - costs[i]);
    costs[i] = weights.prefill_scale * load + workers.decode_blocks[i];
  }
  for (std::size_t i = 0; !weights.tracks_prefill && i < size; ++i) {
    costs[i] = std::max(0.0, workers.decode_blocks[i] - costs[i]);
  }
  add(costs, workers.requests, weights.request);
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
