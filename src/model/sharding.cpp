#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "core/result.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::model {
namespace {

/// As many sizes as a message can hold and a person may want.
constexpr std::size_t kMostSizesNamed = 12;

/// A count that ranks share out. KV heads may also be fewer than the ranks: then each rank holds a
/// copy of one.
struct Shared {
  std::int64_t count = 0;
  std::string_view what;
  bool may_be_copied = false;

  [[nodiscard]] bool fits(std::int64_t ranks) const {
    return count % ranks == 0 || (may_be_copied && ranks % count == 0);
  }
  friend bool operator==(const Shared&, const Shared&) = default;
};

std::vector<Shared> shared_counts(const ModelSpec& spec, const Sharding& sharding) {
  std::vector<Shared> all;
  const auto add = [&all](Shared shared) {
    if (shared.count > 0 && std::find(all.begin(), all.end(), shared) == all.end()) {
      all.push_back(shared);
    }
  };
  for (const LayerGroup& group : spec.layers) {
    add({.count = group.attention.heads, .what = "attention heads"});
    if (!group.attention.latent && !group.attention.compressed) {
      add({.count = group.attention.kv_heads, .what = "KV heads", .may_be_copied = true});
    }
    if (group.attention.compressed) {
      add({.count = group.attention.compressed->output_groups, .what = "output groups"});
    }
    if (group.recurrent) {
      // vLLM copies Mamba-2's groups, but not the delta net's keys.
      add({.count = group.recurrent->heads, .what = "recurrent heads"});
      add({.count = group.recurrent->key_heads,
           .what = "recurrent key heads",
           .may_be_copied = group.recurrent->kind == RecurrentSpec::Kind::kMamba2});
    }
    if (const auto* dense = std::get_if<DenseFfn>(&group.ffn)) {
      add({.count = dense->width, .what = "feed-forward columns"});
    } else if (const auto* moe = std::get_if<MoeFfn>(&group.ffn)) {
      if (!sharding.expert_parallel) {
        add({.count = moe->expert_width, .what = "columns of an expert"});
      }
      add({.count = moe->shared_width, .what = "columns of the shared expert"});
    }
  }
  return all;
}

std::optional<Shared> obstacle(const std::vector<Shared>& all, std::int64_t ranks) {
  const auto found = std::find_if(
      all.begin(), all.end(), [ranks](const Shared& shared) { return !shared.fits(ranks); });
  return found == all.end() ? std::nullopt : std::optional<Shared>(*found);
}

std::string sizes_that_fit(const std::vector<Shared>& all) {
  std::int64_t most = 1;
  for (const Shared& shared : all) {
    most = std::max(most, shared.count);
  }
  for (const Shared& shared : all) {
    most = shared.may_be_copied ? most : std::min(most, shared.count);
  }
  std::string list = "1";
  std::size_t named = 1;
  for (std::int64_t ranks = 2; ranks <= most; ++ranks) {
    if (obstacle(all, ranks)) {
      continue;
    }
    if (named == kMostSizesNamed) {
      return list + ", ...";
    }
    list += fmt::format(", {}", ranks);
    ++named;
  }
  return list;
}

tl::unexpected<core::Errors> refuse(std::string_view option, std::string message) {
  return core::fail(core::Error{.code = core::ErrorCode::kUsage,
                                .field = fmt::format("engine.{}", option),
                                .message = std::move(message),
                                .where = {},
                                .hint = {}});
}

/// What concerns the network as a whole: a stage of a pipeline may be without experts.
core::Result<void> check_use_of_experts(const ModelSpec& spec, const Sharding& sharding) {
  const bool experts = std::ranges::any_of(spec.layers, [](const LayerGroup& group) {
    return std::holds_alternative<MoeFfn>(group.ffn);
  });
  const std::int64_t copies = sharding.data_parallel_size;
  if (!experts && sharding.expert_parallel) {
    return refuse("enable_expert_parallel", "the network has no experts");
  }
  const bool direct = sharding.all_to_all != AllToAllBackend::kAllGatherReduceScatter;
  if (direct && (!sharding.expert_parallel || copies < 2)) {
    return refuse("all2all_backend",
                  fmt::format("{} needs enable_expert_parallel and data_parallel_size above 1",
                              name(sharding.all_to_all)));
  }
  if (direct && sharding.tensor_parallel_size > 1) {
    return refuse("all2all_backend",
                  fmt::format("{} with tensor_parallel_size {} is not modelled yet",
                              name(sharding.all_to_all),
                              sharding.tensor_parallel_size));
  }
  return {};
}

core::Result<void> check_experts(const MoeFfn& moe, const Sharding& sharding) {
  const std::int64_t ranks = sharding.expert_ranks();
  if (sharding.expert_parallel && moe.experts < ranks) {
    return refuse("enable_expert_parallel",
                  fmt::format("{} ranks for {} experts", ranks, moe.experts));
  }
  if (!sharding.expert_parallel && moe.expert_width % ranks != 0) {
    return refuse(
        "data_parallel_size",
        fmt::format("{} x tensor_parallel_size {} does not divide {} columns of an expert; "
                    "enable_expert_parallel hands out whole experts",
                    sharding.data_parallel_size,
                    sharding.tensor_parallel_size,
                    moe.expert_width));
  }
  return {};
}

core::Result<void> check_pipeline(const ModelSpec& spec, const Sharding& sharding) {
  const std::int64_t stages = sharding.pipeline_parallel_size;
  if (stages > 1 && stages > spec.num_layers()) {
    return refuse("pipeline_parallel_size",
                  fmt::format("{} stages for {} layers", stages, spec.num_layers()));
  }
  return {};
}

core::Result<void> check_context(const ModelSpec& spec, const Sharding& sharding) {
  const std::int64_t ranks = sharding.prefill_context_parallel_size;
  if (ranks == 1) {
    return {};
  }
  const auto unlike = [ranks](std::string_view what) {
    return refuse("prefill_context_parallel_size",
                  fmt::format("{} with {} is not modelled yet", ranks, what));
  };
  if (sharding.pipeline_parallel_size > 1) {
    return unlike("pipeline_parallel_size above 1");
  }
  if (sharding.data_parallel_size > 1) {
    return unlike("data_parallel_size above 1");
  }
  for (const LayerGroup& group : spec.layers) {
    if (group.recurrent) {
      return unlike("recurrent layers");
    }
    if (group.attention.compressed || group.attention.sparse) {
      return unlike("sparse attention");
    }
    if (group.attention.window > 0) {
      return unlike("attention over a window");
    }
  }
  return {};
}

/// vLLM's rules for caches dealt out by tokens (config/parallel.py, config/model.py): among ranks
/// that would hold copies. Windows would be held whole by each.
core::Result<void> check_decode_context(const ModelSpec& spec, const Sharding& sharding) {
  const std::int64_t ranks = sharding.decode_context_parallel_size;
  if (ranks == 1) {
    return {};
  }
  const auto refused = [ranks](std::string_view why) {
    return refuse("decode_context_parallel_size", fmt::format("{} {}", ranks, why));
  };
  if (sharding.tensor_parallel_size % ranks != 0) {
    return refused(
        fmt::format("does not divide tensor_parallel_size {}, whose ranks hold the cache",
                    sharding.tensor_parallel_size));
  }
  if (sharding.prefill_context_parallel_size > 1) {
    return refused("with prefill_context_parallel_size above 1 is not modelled yet");
  }
  for (const LayerGroup& group : spec.layers) {
    const AttentionSpec& attention = group.attention;
    if (attention.compressed || attention.sparse || attention.window > 0) {
      return refused("with windows or sparse attention is not modelled yet");
    }
    const std::int64_t copies = std::max<std::int64_t>(
        sharding.tensor_parallel_size / std::max<std::int64_t>(attention.kv_heads, 1), 1);
    if (!group.recurrent && !attention.latent && attention.heads > 0 && ranks > copies) {
      return refused(
          fmt::format("is more than the ranks that hold one KV head: {} of tensor_parallel_size {}",
                      copies,
                      sharding.tensor_parallel_size));
    }
  }
  return {};
}

}  // namespace

core::Result<void> check_ranks(const ModelSpec& spec, const Sharding& sharding) {
  const std::pair<std::string_view, std::int64_t> sizes[] = {
      {"tensor_parallel_size", sharding.tensor_parallel_size},
      {"pipeline_parallel_size", sharding.pipeline_parallel_size},
      {"data_parallel_size", sharding.data_parallel_size},
      {"prefill_context_parallel_size", sharding.prefill_context_parallel_size}};
  for (const auto& [option, size] : sizes) {
    if (size < 1) {
      return refuse(option, fmt::format("{} is out of range, expected 1 or more", size));
    }
  }
  const std::vector<Shared> all = shared_counts(spec, sharding);
  if (const std::optional<Shared> problem = obstacle(all, sharding.tensor_parallel_size)) {
    return refuse("tensor_parallel_size",
                  fmt::format("tensor_parallel_size {} does not divide {} {}; sizes that do: {}",
                              sharding.tensor_parallel_size,
                              problem->count,
                              problem->what,
                              sizes_that_fit(all)));
  }
  for (const LayerGroup& group : spec.layers) {
    if (const auto* moe = std::get_if<MoeFfn>(&group.ffn)) {
      if (auto shared_out = check_experts(*moe, sharding); !shared_out) {
        return shared_out;
      }
    }
  }
  return {};
}

core::Result<void> check_sharding(const ModelSpec& spec, const Sharding& sharding) {
  return check_ranks(spec, sharding)
      .and_then([&] { return check_use_of_experts(spec, sharding); })
      .and_then([&] { return check_pipeline(spec, sharding); })
      .and_then([&] { return check_context(spec, sharding); })
      .and_then([&] { return check_decode_context(spec, sharding); });
}

}  // namespace ridgeline::model
