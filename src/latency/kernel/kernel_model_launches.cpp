#include <algorithm>
#include <cstdint>

#include "core/time.hpp"
#include "domain/step.hpp"
#include "latency/kernel/kernel_model.hpp"

namespace ridgeline::latency::kernel {
namespace {

/// Verifications alone replay a whole graph, as decodes do.
bool has_prompt(const domain::StepBatch& batch) {
  return std::any_of(batch.prefills.begin(), batch.prefills.end(), [](const auto& chunk) {
    return chunk.drafts == 0;
  });
}

}  // namespace

core::Duration KernelModel::kernel_time(const domain::StepTime& time, const TimeByKind& prefill) {
  core::Duration sum = time.gpu();
  for (const core::Duration part : prefill) {
    sum = core::Duration::saturating_sum(sum, part);
  }
  return sum;
}

std::int64_t KernelModel::padded(std::int64_t tokens) const {
  const auto next = std::lower_bound(graph_sizes_.begin(), graph_sizes_.end(), tokens);
  return next == graph_sizes_.end() ? tokens : *next;
}

bool KernelModel::is_captured(std::int64_t tokens) const {
  return !graph_sizes_.empty() && tokens <= graph_sizes_.back();
}

bool KernelModel::is_piecewise(const domain::StepBatch& batch) const {
  return has_prompt(batch) && is_captured(batch.num_tokens().value()) && !is_eager_;
}

core::Duration KernelModel::launch_gap(const domain::StepBatch& batch,
                                       core::Duration kernels) const {
  return has_prompt(batch) ? launch_gap_of_prompts(batch.num_tokens().value(), kernels)
                           : launch_gap_of_decodes(batch.num_tokens().value(), kernels);
}

core::Duration KernelModel::launch_gap(const domain::StepBatch& batch) const {
  const Work work = work_of(batch);
  return launch_gap(
      batch,
      kernel_time(start(token_part(work.tokens), sampled_part(work.sampled)), prefill_part(work)));
}

core::Duration KernelModel::launch_gap_of_decodes(std::int64_t decodes,
                                                  core::Duration kernels) const {
  if (graph_sizes_.empty()) {
    return {};
  }
  const bool is_launched = is_eager_ || !is_captured(decodes);
  const core::Duration host = is_launched ? host_decodes_ : host_pieces_;
  return std::max(eager_gap_, host - std::min(kernels, host));
}

core::Duration KernelModel::launch_gap_of_prompts(std::int64_t tokens,
                                                  core::Duration kernels) const {
  if (graph_sizes_.empty()) {
    return {};
  }
  const core::Duration launched =
      std::max(uncaptured_gap_, host_prompts_ - std::min(kernels, host_prompts_));
  if (graphs_hold_prompts_ && is_captured(tokens)) {
    return is_eager_ ? std::max(piecewise_gap_, launched) : piecewise_gap_;
  }
  return launched;
}

}  // namespace ridgeline::latency::kernel
