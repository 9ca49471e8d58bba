#pragma once

#include <cstdint>
#include <vector>

#include "core/units.hpp"
#include "domain/request.hpp"

namespace ridgeline::engine::reference {

/// Token `index` of a content: equal exactly where the contents and the indices are equal.
[[nodiscard]] std::uint64_t token_at(std::uint64_t content, std::int64_t index);

/// One link of vLLM's hash chain: the hash of a full block from its parent's and its tokens.
[[nodiscard]] std::uint64_t chain(std::uint64_t parent, std::uint64_t token);

/// What a request's token sequence holds, prompt first and then what it generates.
class TokenSequence {
 public:
  explicit TokenSequence(const domain::Request& request);
  [[nodiscard]] std::uint64_t operator[](std::int64_t position) const;

 private:
  std::vector<std::uint64_t> prompt_;
  std::uint64_t output_;
};

}  // namespace ridgeline::engine::reference
