// What is derived from a network's facts: caches, pipeline stages, the drafting network.
#include <algorithm>
#include <cstddef>
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

namespace ridgeline::model {
namespace {

/// Kind and window of an operator's cache; an empty kind has none.
struct CacheKind {
  std::string kind;
  std::int64_t window = 0;
};

CacheKind cache_kind(const Operator& op) {
  if (const auto* attention = std::get_if<Attention>(&op.shape)) {
    if (!attention->has_cache) {
      return {};
    }
    const bool windowed = attention->window > 0 && attention->frees_window;
    return windowed ? CacheKind{.kind = "window", .window = attention->window}
                    : CacheKind{.kind = "full"};
  }
  if (std::holds_alternative<LatentAttention>(op.shape)) {
    return {.kind = "latent"};
  }
  if (std::holds_alternative<CompressedAttention>(op.shape)) {
    return {.kind = "compressed"};
  }
  if (std::holds_alternative<Indexer>(op.shape)) {
    return {.kind = "indexer"};
  }
  if (std::holds_alternative<Recurrence>(op.shape)) {
    return {.kind = "state"};
  }
  return {};
}

}  // namespace

std::vector<CacheGroup> cache_groups(const ModelSpec& spec, const Sharding& sharding) {
  std::vector<CacheGroup> groups;
  for (const Operator& op : forward_pass(spec, sharding)) {
    const CacheKind kind = cache_kind(op);
    if (kind.kind.empty()) {
      continue;
    }
    auto group = std::find_if(groups.begin(), groups.end(), [&](const CacheGroup& known) {
      return known.kind == kind.kind && known.window.value() == kind.window;
    });
    if (group == groups.end()) {
      groups.push_back({.kind = kind.kind,
                        .layers = 0,
                        .window = core::Tokens(kind.window),
                        .bytes_per_token = {},
                        .bytes_per_sequence = {}});
      group = groups.end() - 1;
    }
    group->layers += op.calls;
    group->bytes_per_token += kv_bytes_per_token(op);
    group->bytes_per_sequence += state_bytes_per_sequence(op);
  }
  return groups;
}

std::vector<ModelSpec> pipeline_stages(const ModelSpec& spec, std::int64_t stages) {
  RIDGELINE_CHECK(stages >= 1, "a pipeline has a stage");
  if (stages == 1) {
    return {spec};
  }
  const std::int64_t layers = spec.num_layers();
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(stages), layers / stages);
  for (std::int64_t i = 0; i < layers % stages; ++i) {
    ++sizes[static_cast<std::size_t>(stages - 2 - i)];
  }
  std::vector<ModelSpec> result;
  std::size_t group = 0;
  std::int64_t used = 0;  // of that group
  for (std::size_t stage = 0; stage < sizes.size(); ++stage) {
    ModelSpec part = spec;
    part.layers.clear();
    part.has_embedding = spec.has_embedding && stage == 0;
    part.has_head = spec.has_head && stage + 1 == sizes.size();
    // The head of the last stage has no embedding beside it to share.
    part.tied_embeddings = false;
    for (std::int64_t missing = sizes[stage]; missing > 0;) {
      const LayerGroup& from = spec.layers[group];
      const std::int64_t taken = std::min(missing, from.count - used);
      part.layers.push_back(from);
      part.layers.back().count = taken;
      missing -= taken;
      used += taken;
      if (used == from.count) {
        ++group;
        used = 0;
      }
    }
    result.push_back(std::move(part));
  }
  return result;
}

std::optional<ModelSpec> draft_network(const ModelSpec& spec) {
  if (spec.draft_layers.empty()) {
    return std::nullopt;
  }
  ModelSpec draft = spec;
  draft.layers = spec.draft_layers;
  draft.draft_layers.clear();
  draft.vision.reset();
  // Embedding and head are the target's.
  draft.has_embedding = false;
  draft.tied_embeddings = true;
  draft.draft_inputs = 2;
  return draft;
}

void set_weight_format(ModelSpec& spec, DType format) {
  spec.precision.attention = format;
  spec.precision.ffn = format;
  for (std::vector<LayerGroup>* layers : {&spec.layers, &spec.draft_layers}) {
    for (LayerGroup& group : *layers) {
      group.precision.reset();
    }
  }
}

std::int64_t VisionTower::tokens(std::int64_t width, std::int64_t height) const {
  const std::int64_t side = std::max<std::int64_t>(1, patch * patches_a_side);
  return ((width + side - 1) / side) * ((height + side - 1) / side);
}

}  // namespace ridgeline::model
