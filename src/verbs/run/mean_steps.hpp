#pragma once

#include "core/units.hpp"
#include "document/document.hpp"
#include "metrics/series.hpp"
#include "metrics/summary.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::verbs {

/// A decode step and a prompt's step of the run's own means, operator by operator, as the run's
/// step-time model prices them: {decode, prompt, roofs, bytes_per_s}. The decode step has the mean
/// batch and the mean KV of the time in which steps ran; the prompt is the mean prompt without what
/// the prefix cache had, alone in its step. A step that the run does not have is null. Pools, whose
/// steps differ, have none (required).
[[nodiscard]] document::Node mean_steps_tree(const scenario::Resolved& resolved,
                                             const metrics::Series& series,
                                             const metrics::Summary& summary);

/// The decode step of the mean batch of a window's steps; null of a window without one.
[[nodiscard]] document::Node decode_step_tree(const scenario::Deployment& deployment,
                                              const metrics::Window& window);
/// A prompt alone in its step, cut at what one step computes; null without tokens to compute.
[[nodiscard]] document::Node prompt_step_tree(const scenario::Deployment& deployment,
                                              core::Tokens cached,
                                              core::Tokens computed);

/// What lies in one GPU's memory, in GiB by part, and `usable_gib`: weights, kv_cache, ..., free.
[[nodiscard]] document::Node gpu_memory_tree(const scenario::Deployment& deployment);

}  // namespace ridgeline::verbs
