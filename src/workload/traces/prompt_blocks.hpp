#pragma once

#include <cstdint>
#include <span>

#include "core/units.hpp"
#include "domain/request.hpp"

namespace ridgeline::workload {

/// The names of the blocks of a prompt: two blocks have the same name exactly where they hold the
/// same tokens behind the same prefix. A last block that is not full counts.
class PromptBlocks {
 public:
  PromptBlocks(std::span<const domain::Segment> prompt,
               core::Tokens length,
               std::uint64_t unique_content,
               core::Tokens block);

  /// The name of the next block; false when there is none.
  bool next(std::uint64_t& name);

 private:
  std::span<const domain::Segment> prompt_;
  std::int64_t left_;
  std::int64_t block_;
  std::uint64_t unique_;
  std::uint64_t chain_ = 0;
  std::size_t segment_ = 0;
  std::int64_t offset_ = 0;  ///< In the segment, or in what is unique.
};

}  // namespace ridgeline::workload
