#include "verbs/run/mean_steps.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/int128.hpp"
#include "core/math.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "domain/step.hpp"
#include "engine/capacity.hpp"
#include "latency/kernel/formats_in_use.hpp"
#include "latency/step_time_model.hpp"
#include "metrics/series.hpp"
#include "metrics/summary.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "verbs/step_view.hpp"

namespace ridgeline::verbs {
namespace {

using document::MapBuilder;
using document::number_node;

using document::Node;

std::int64_t rounded(core::Int128 sum, core::Int128 parts) {
  return static_cast<std::int64_t>((sum * 2 + parts) / (parts * 2));
}

Node step_node(const latency::StepTimeModel& model,
               const domain::StepBatch& batch,
               std::int64_t requests,
               core::Tokens context,
               core::Tokens prompt) {
  const latency::Explanation explanation = model.explain(batch);
  return MapBuilder()
      .add("requests", requests)
      .add("context_tokens", context.value())
      .add("prompt_tokens", prompt.value())
      .add("us", explanation.total.gpu().to_seconds() * 1e6)
      .add("parts", parts_tree(explanation.parts))
      .build();
}

}  // namespace

Node decode_step_tree(const scenario::Deployment& deployment, const metrics::Window& all) {
  core::Int128 busy = 0;
  for (const core::Int128 ticks : all.busy) {
    busy += ticks;
  }
  if (busy == 0 || all.decode_tokens == 0) {
    return {};
  }
  const std::int64_t requests = std::max<std::int64_t>(rounded(all.running, busy), 1);
  const core::Tokens context(std::max(rounded(all.kv_tokens, busy), requests));
  const std::vector<core::Tokens> lengths(static_cast<std::size_t>(requests),
                                          core::Tokens(context.value() / requests));
  const std::int64_t drafts = deployment.execution.speculation
                                  ? deployment.execution.speculation->num_speculative_tokens
                                  : 0;
  std::vector<domain::PrefillChunk> chunks;
  domain::StepBatch batch;
  if (drafts > 0) {
    chunks.assign(lengths.size(),
                  {.past = lengths.front(),
                   .new_tokens = core::Tokens(1 + drafts),
                   .samples = true,
                   .drafts = drafts});
    batch.prefills = chunks;
  } else {
    batch.num_decodes = requests;
    batch.decode_context = context;
    batch.decode_lengths = lengths;
  }
  return step_node(*deployment.latency, batch, requests, context, {});
}

Node prompt_step_tree(const scenario::Deployment& deployment,
                      core::Tokens cached,
                      core::Tokens computed) {
  if (computed <= core::Tokens(0)) {
    return {};
  }
  const std::int64_t most =
      std::max<std::int64_t>(deployment.engine.max_num_batched_tokens.value(), 1);
  const core::Tokens in_step(std::min(computed.value(), most));
  const domain::PrefillChunk chunk = {.past = cached, .new_tokens = in_step};
  domain::StepBatch batch;
  batch.prefills = {&chunk, 1};
  return step_node(*deployment.latency, batch, 1, cached, in_step);
}

Node mean_steps_tree(const scenario::Resolved& resolved,
                     const metrics::Series& series,
                     const metrics::Summary& summary) {
  const scenario::Deployment& deployment = *resolved.deployment;
  metrics::Window all;
  for (const metrics::Window& window : series.windows) {
    all.add(window);
  }
  Node prompt;
  if (summary.completed > 0 && summary.total_input_tokens > 0) {
    const std::int64_t cached = rounded(summary.total_cached_tokens, summary.completed);
    const std::int64_t whole = rounded(summary.total_input_tokens, summary.completed);
    prompt = prompt_step_tree(
        deployment, core::Tokens(cached), core::Tokens(std::max<std::int64_t>(whole - cached, 1)));
  }
  MapBuilder roofs;
  for (const auto& peak : latency::kernel::formats_in_use(deployment.network, deployment.gpu)) {
    roofs.add(peak.format, peak.peak.value());
  }
  return MapBuilder()
      .add("decode", decode_step_tree(deployment, all))
      .add("prompt", prompt)
      .add("roofs", roofs.build())
      .add("bytes_per_s", deployment.gpu.mem_bandwidth.value())
      .build();
}

Node gpu_memory_tree(const scenario::Deployment& deployment) {
  const engine::MemoryPlan& plan = deployment.memory;
  const core::Bytes kv = plan.block * core::real(deployment.engine.num_gpu_blocks.value());
  std::vector<std::pair<std::string, core::Bytes>> parts = {{"weights_gib", plan.weights},
                                                            {"kv_cache_gib", kv}};
  if (deployment.memory_lines.empty()) {
    parts.insert(parts.end(),
                 {{"activations_gib", plan.activations},
                  {"position_tables_gib", plan.position_tables},
                  {"non_torch_gib", plan.non_torch},
                  {"cuda_graphs_gib", plan.cuda_graphs},
                  {"sequence_state_gib", plan.sequence_state}});
  }
  MapBuilder map;
  map.add("usable_gib", core::as_gibibytes(plan.usable));
  core::Bytes used;
  for (const auto& [key, bytes] : parts) {
    if (bytes > core::Bytes(0)) {
      map.add(key, core::as_gibibytes(bytes));
      used += bytes;
    }
  }
  // An engine that is not vLLM says no more of its own.
  return map
      .add(deployment.memory_lines.empty() ? "free_gib" : "other_gib",
           number_node(core::as_gibibytes(std::max(plan.usable - used, core::Bytes(0)))))
      .build();
}

}  // namespace ridgeline::verbs
