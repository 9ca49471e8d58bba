#include "workload/traces/prompt_blocks.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/units.hpp"
#include "domain/request.hpp"

namespace ridgeline::workload {
namespace {

/// The finalizer of SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, OOPSLA 2014).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

}  // namespace

PromptBlocks::PromptBlocks(std::span<const domain::Segment> prompt,
                           core::Tokens length,
                           std::uint64_t unique_content,
                           core::Tokens block)
    : prompt_(prompt), left_(length.value()), block_(block.value()), unique_(unique_content) {}

bool PromptBlocks::next(std::uint64_t& name) {
  if (left_ == 0) {
    return false;
  }
  std::int64_t room = std::min(block_, left_);
  left_ -= room;
  while (room > 0) {
    const bool named = segment_ < prompt_.size();
    const std::int64_t available = named ? prompt_[segment_].length.value() - offset_ : room;
    const std::int64_t taken = std::min(room, available);
    const std::uint64_t content = named ? prompt_[segment_].content : unique_;
    chain_ = mix(mix(mix(chain_ + content) + static_cast<std::uint64_t>(offset_)) +
                 static_cast<std::uint64_t>(taken));
    room -= taken;
    offset_ += taken;
    if (named && offset_ == prompt_[segment_].length.value()) {
      ++segment_;
      offset_ = 0;
    }
  }
  name = chain_;
  return true;
}

}  // namespace ridgeline::workload
