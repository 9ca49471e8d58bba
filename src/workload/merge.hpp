#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/result.hpp"
#include "workload/item_stream.hpp"

/// Streams made of several. None of them reads more ahead than a group of each.
namespace ridgeline::workload {

/// All streams at once, merged by time; requests of two streams stay distinct even where they use
/// the same contents, sessions and labels. Streams with more than one stage, or a limit of
/// concurrency, are not merged (fails).
[[nodiscard]] core::Result<std::unique_ptr<ItemStream>> superposed(
    std::vector<std::unique_ptr<ItemStream>> streams);

/// A part of a mixture.
struct MixPart {
  std::unique_ptr<ItemStream> stream;
  double weight = 1.0;
};

/// Groups that start at the arrivals of a Poisson process of `rate` per second, each the next group
/// of a part chosen by weight. Ends after `count` groups, or when the part chosen has no more.
[[nodiscard]] core::Result<std::unique_ptr<ItemStream>> mixed(std::vector<MixPart> parts,
                                                              double rate,
                                                              std::int64_t count,
                                                              std::uint64_t seed);

}  // namespace ridgeline::workload
