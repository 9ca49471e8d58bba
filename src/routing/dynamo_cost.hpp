#pragma once

#include <cstdint>
#include <vector>

/// The cost by which NVIDIA Dynamo's KV router chooses (2a6da14, 2026-08-21).
namespace ridgeline::routing {

/// What the router has counted of one worker, and how much of the prompt it believes there.
struct DynamoWorker {
  double device_blocks = 0.0;  ///< Blocks of the prompt on the GPU; and in the other tiers.
  double host_blocks = 0.0;
  double disk_blocks = 0.0;
  double shared_blocks = 0.0;  ///< Beyond those on the GPU.
  std::int64_t prefill_tokens = 0;
  double decode_blocks = 0.0;  ///< With this request.
  std::int64_t requests = 0;
};

struct DynamoWeights {
  double block_tokens = 16.0;
  double overlap_credit = 1.0;
  double overlap_decay = 0.0;
  double host = 0.75;
  double disk = 0.25;
  double shared = 0.0;
  double prefill_scale = 1.0;
  double request = 0.0;
  bool tracks_prefill = true;
};

/// Workers number by number: a pass over many of them reads one row. A row that counts for nothing
/// may be empty: blocks of the prompt that no worker has, and requests where their weight is 0.
struct DynamoColumns {
  std::vector<double> device_blocks = {};
  std::vector<double> host_blocks = {};
  std::vector<double> disk_blocks = {};
  std::vector<double> shared_blocks = {};
  std::vector<double> prefill_tokens = {};
  std::vector<double> decode_blocks = {};
  std::vector<double> requests = {};
};

/// Cost of each worker; lower is better.
[[nodiscard]] std::vector<double> dynamo_costs(const std::vector<DynamoWorker>& workers,
                                               std::int64_t prompt_tokens,
                                               const DynamoWeights& weights = {});
/// dynamo_costs() into `costs`.
void fill_dynamo_costs(const DynamoColumns& workers,
                       std::int64_t prompt_tokens,
                       const DynamoWeights& weights,
                       std::vector<double>& costs);
/// With which probability each is chosen at a temperature above zero.
[[nodiscard]] std::vector<double> dynamo_probabilities(const std::vector<double>& costs,
                                                       double temperature);

}  // namespace ridgeline::routing
