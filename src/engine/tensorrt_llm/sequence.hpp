#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/vllm/plain/content.hpp"

namespace ridgeline::engine::tensorrt_llm {

/// The tokens of a request, and keys of its leading blocks: equal for two requests where all tokens
/// up to the end of the block are.
class Content {
 public:
  explicit Content(const domain::Request& request)
      : tokens_(request), root_(request.lora.value()) {}

  /// The key of the tokens before a block of `size` tokens, the same in each call; the adapter's
  /// own before the first.
  [[nodiscard]] std::uint64_t key_before(std::int64_t block, std::int64_t size);
  /// A number for the token at a place.
  [[nodiscard]] std::uint64_t operator[](std::int64_t place) const { return tokens_[place]; }

 private:
  vllm::plain::TokenSequence tokens_;
  std::uint64_t root_;
  std::vector<std::uint64_t> keys_;  ///< As far as asked for.
};

/// A request inside the scheduler. A context is what is computed before the first token comes out:
/// the prompt, and for a request that was paused what it has generated.
struct Sequence : engine::Sequence {
  Sequence(const domain::Request& request, core::Tokens max_seq_len);

  std::shared_ptr<Content> content;  ///< Shared with the blocks stored of it.
  bool is_active = false;            ///< Out of the waiting queue.
  bool has_left = false;             ///< What is still in flight is thrown away.
  bool holds_blocks = false;         ///< Its first chunk has been launched.
  bool loads = false;                ///< Leg::loads: another server computes its context.
  bool is_read = false;              ///< Leg::holds_blocks: another server reads them at its end.
  std::int64_t context_tokens;       ///< Tokens of its context.
  /// Tokens behind the context that are known already: each is generated once more, unseen.
  std::int64_t repeats = 0;
  std::int64_t position = 0;          ///< Tokens of the context launched, found ones included.
  std::int64_t output_tokens = 0;     ///< Known.
  std::int64_t parts_in_flight = 0;   ///< Steps in flight that it is in.
  std::int64_t tokens_in_flight = 0;  ///< That steps in flight give at most.
  std::int64_t kv_tokens = 0;         ///< Tokens with a place in its blocks.
  std::vector<core::BlockId> blocks;

  [[nodiscard]] bool is_context() const { return position < context_tokens; }
  [[nodiscard]] bool is_started_context() const { return holds_blocks && is_context(); }
  /// Tokens that it has with its last possible one.
  [[nodiscard]] std::int64_t most_tokens() const { return num_prompt_tokens + max_output_tokens; }
  /// The steps in flight give its last token (GENERATION_TO_COMPLETE).
  [[nodiscard]] bool is_completing() const {
    return tokens_in_flight > 0 && output_tokens + tokens_in_flight >= max_output_tokens;
  }
};
using SequencePtr = std::shared_ptr<Sequence>;

}  // namespace ridgeline::engine::tensorrt_llm
