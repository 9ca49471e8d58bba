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

std::vector<Shared> shared_counts(const ModelSpec& spec) {
  std::vector<Shared> all;
  const auto add = [&all](Shared shared) {
    if (shared.count > 0 && std::find(all.begin(), all.end(), shared) == all.end()) {
      all.push_back(shared);
    }
  };
  for (const LayerGroup& group : spec.layers) {
    add({.count = group.attention.heads, .what = "attention heads"});
    add({.count = group.attention.kv_heads, .what = "KV heads", .may_be_copied = true});
    if (const auto* dense = std::get_if<DenseFfn>(&group.ffn)) {
      add({.count = dense->width, .what = "feed-forward columns"});
    } else if (const auto* moe = std::get_if<MoeFfn>(&group.ffn)) {
      add({.count = moe->expert_width, .what = "columns of an expert"});
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

}  // namespace

core::Result<void> check_sharding(const ModelSpec& spec, const Sharding& sharding) {
  const std::int64_t ranks = sharding.tensor_parallel_size;
  const auto refuse = [](std::string message) {
    return core::fail(core::Error{.code = core::ErrorCode::kUsage,
                                  .field = "engine.tensor_parallel_size",
                                  .message = std::move(message),
                                  .where = {},
                                  .hint = {}});
  };
  if (ranks < 1) {
    return refuse(fmt::format("{} is out of range, expected 1 or more", ranks));
  }
  const std::vector<Shared> all = shared_counts(spec);
  if (const std::optional<Shared> problem = obstacle(all, ranks)) {
    return refuse(fmt::format("tensor_parallel_size {} does not divide {} {}; sizes that do: {}",
                              ranks,
                              problem->count,
                              problem->what,
                              sizes_that_fit(all)));
  }
  return {};
}

}  // namespace ridgeline::model
