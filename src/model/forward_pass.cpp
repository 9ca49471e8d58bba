#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/check.hpp"
#include "core/units.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "model/pass.hpp"

namespace ridgeline::model {
namespace {

/// vLLM serves vision towers in the checkpoint's 16 bits.
constexpr DType kVisionWeights = DType::kBf16;

std::vector<Operator> whole(const ModelSpec& spec) {
  return forward_pass(spec, Sharding{});
}

/// The largest sum of `of` over a stage's operators.
template <class Sum>
Sum heaviest_stage(const ModelSpec& spec, const Sharding& sharding, Sum (*of)(const Operator&)) {
  Sum most;
  for (const ModelSpec& stage : pipeline_stages(spec, sharding.pipeline_parallel_size)) {
    Sum total;
    for (const Operator& op : forward_pass(stage, sharding)) {
      total += of(op);
    }
    most = std::max(most, total);
  }
  return most;
}

}  // namespace

std::int64_t ModelSpec::num_layers() const {
  std::int64_t count = 0;
  for (const LayerGroup& group : layers) {
    count += group.count;
  }
  return count;
}

std::vector<Operator> forward_pass(const ModelSpec& spec, const Sharding& sharding) {
  RIDGELINE_CHECK(check_ranks(spec, sharding).has_value(), "check_sharding comes first");
  const std::int64_t ranks = sharding.tensor_parallel_size;
  const std::int64_t vocab = (spec.vocab_size + ranks - 1) / ranks;
  const DType weights = spec.precision.embedding;
  Pass pass(spec, sharding);
  if (spec.has_embedding) {
    pass.add(
        "embedding", 1, Embedding{.vocab = vocab, .width = spec.hidden_size, .weights = weights});
    if (spec.vision) {
      pass.add("vision_tower",
               1,
               Resident{.elements = spec.vision->parameters / static_cast<double>(ranks),
                        .weights = kVisionWeights});
    }
  }
  if (spec.draft_inputs > 0) {
    pass.add(
        "draft_proj",
        1,
        Gemm{.k = spec.draft_inputs * spec.hidden_size, .n = spec.hidden_size, .weights = weights});
    pass.add("draft_norm", spec.draft_inputs, Norm{.width = spec.hidden_size});
  }
  pass.add_row_projection();
  for (const LayerGroup& group : spec.layers) {
    pass.add_layers(group);
  }
  if (!spec.has_head) {
    return std::move(pass).take();
  }
  pass.add("final_norm", 1, Norm{.width = spec.hidden_size});
  pass.add("lm_head",
           1,
           Gemm{.k = spec.hidden_size,
                .n = vocab,
                .weights = spec.precision.lm_head.value_or(weights),
                .rows = Rows::kSampled,
                .tied = spec.tied_embeddings});
  if (ranks > 1) {
    pass.add(
        "logits_exchange", 1, AllReduce{.width = vocab, .rows = Rows::kSampled, .ranks = ranks});
  }
  pass.add("sampling", 1, Sampling{.vocab = spec.vocab_size});
  return std::move(pass).take();
}

double total_parameters(const ModelSpec& spec) {
  double total = 0.0;
  for (const Operator& op : whole(spec)) {
    total += parameters(op);
  }
  return total;
}

double active_parameters(const ModelSpec& spec) {
  double total = 0.0;
  for (Operator& op : whole(spec)) {
    if (std::holds_alternative<Resident>(op.shape)) {
      continue;
    }
    if (auto* experts = std::get_if<ExpertGemm>(&op.shape)) {
      experts->experts_on_rank = experts->experts_per_token;
    }
    total += parameters(op);
  }
  return total;
}

core::Bytes weight_bytes_per_rank(const ModelSpec& spec, const Sharding& sharding) {
  return heaviest_stage<core::Bytes>(spec, sharding, weight_bytes);
}

core::BytesPerToken kv_bytes_per_token_per_rank(const ModelSpec& spec, const Sharding& sharding) {
  return heaviest_stage<core::BytesPerToken>(spec, sharding, kv_bytes_per_token);
}

core::Bytes state_bytes_per_rank(const ModelSpec& spec, const Sharding& sharding) {
  return heaviest_stage<core::Bytes>(spec, sharding, state_bytes_per_sequence);
}

}  // namespace ridgeline::model
