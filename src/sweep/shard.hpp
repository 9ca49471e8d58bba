#pragma once

#include <cstdint>
#include <string_view>

#include "core/result.hpp"

namespace ridgeline::sweep {

/// Shards of one sweep (ours: ten times the largest array that Slurm takes as configured by others;
/// each is a file).
inline constexpr std::int64_t kMostShards = 100'000;

/// A part of a sweep: points whose ordinal leaves `index` when divided by `count`, so that costly
/// neighbours are spread.
struct Shard {
  std::int64_t index = 0;
  std::int64_t count = 1;

  [[nodiscard]] bool has(std::int64_t ordinal) const { return ordinal % count == index; }
};

/// Reads "3/8": the index from 0, and the count. Fails with the flag's name.
[[nodiscard]] core::Result<Shard> read_shard(std::string_view text);

}  // namespace ridgeline::sweep
