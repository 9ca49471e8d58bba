#pragma once

#include <cstdint>
#include <set>

#include "engine/tensorrt_llm/capacity.hpp"
#include "engine/tensorrt_llm/sequence.hpp"

namespace ridgeline::engine::tensorrt_llm {

/// The blocks that contexts of one pass are about to compute. Another context whose next block is
/// among them had better wait: it will find the block.
class DuplicatePrefixes {
 public:
  /// Chunked contexts that have started count from the beginning.
  explicit DuplicatePrefixes(const CapacityInputs& inputs);

  /// Whether a context waits; if not, its own next block is among them from now on.
  [[nodiscard]] bool holds_back(const Sequence& context);

 private:
  const CapacityInputs& inputs_;
  std::set<std::uint64_t> coming_;  ///< Keys of blocks.
};

}  // namespace ridgeline::engine::tensorrt_llm
