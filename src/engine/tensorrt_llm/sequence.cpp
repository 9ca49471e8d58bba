#include "engine/tensorrt_llm/sequence.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/loop/step_scheduler.hpp"

namespace ridgeline::engine::tensorrt_llm {

std::uint64_t Content::key_before(std::int64_t block, std::int64_t size) {
  for (auto next = std::ssize(keys_); next < block; ++next) {
    const std::uint64_t parent = next > 0 ? keys_.back() : root_;
    keys_.push_back(tokens_.hash_block(parent, next * size, (next + 1) * size));
  }
  return block > 0 ? keys_[static_cast<std::size_t>(block - 1)] : root_;
}

Sequence::Sequence(const domain::Request& request, core::Tokens max_seq_len)
    : engine::Sequence(request, max_seq_len),
      content(std::make_shared<Content>(request)),
      context_tokens(num_prompt_tokens) {}

}  // namespace ridgeline::engine::tensorrt_llm
