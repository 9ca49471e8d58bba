#include "engine/prefix_hashes.hpp"

#include <cstdint>
#include <vector>

#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/vllm/plain/content.hpp"

namespace ridgeline::engine {

std::vector<std::uint64_t> prefix_hashes(const domain::Request& request, core::Tokens block_size) {
  vllm::plain::TokenSequence tokens(request);
  std::vector<std::uint64_t> hashes;
  std::uint64_t hash = request.lora.value();
  const std::int64_t size = block_size.value();
  for (std::int64_t end = size; end <= request.prompt_tokens.value(); end += size) {
    hash = tokens.hash_block(hash, end - size, end);
    hashes.push_back(hash);
  }
  return hashes;
}

}  // namespace ridgeline::engine
