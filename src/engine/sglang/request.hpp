#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/radix_cache.hpp"
#include "engine/sglang/tokens.hpp"

namespace ridgeline::engine::sglang {

/// A request inside the scheduler, with what SGLang's Req keeps of it.
struct Sequence final : engine::Sequence {
  /// `longest`: prompt and output together that SGLang allows it.
  Sequence(const domain::Request& request, core::Tokens longest, const Speculation& speculation)
      : engine::Sequence(request, longest),
        keys(request, std::max<std::int64_t>(max_output_tokens, 0) + speculation.steps),
        unkeyed(speculation.keys_pairs ? 1 : 0),
        salt(request.lora.value()),
        priority(request.priority) {
    if (speculation.keys_pairs) {
      keys = keys.pairs();
    }
  }

  Tokens keys;  ///< The prompt, and all that may be generated behind it, as the tree knows them.
  std::int64_t unkeyed = 0;  ///< Tokens at the end of any beginning that have no key: 1 of pairs.
  std::uint64_t salt = 0;    ///< Keeps the tree of an adapter apart (extra_key).
  std::int32_t priority = 0;
  bool ignore_eos = false;            ///< It generates max_new_tokens whatever comes.
  std::int64_t outputs = 0;           ///< Tokens generated and known.
  std::int64_t entered = 0;           ///< Stamp of its entry into the waiting queue.
  std::int64_t prefilled_before = 0;  ///< Scheduler::prefilled() as it entered.

  std::int64_t extend_len = 0;    ///< Tokens that its last prefill step computes, or would.
  std::int64_t prefix_len = 0;    ///< KV that the next prefill step goes on from.
  std::int64_t fill_len = 0;      ///< Where its last prefill step ends.
  std::int64_t kv_len = 0;        ///< Tokens whose KV it holds, in the tree or of its own; with
                                  ///< speculation, slots ahead of them included.
  std::int64_t committed = 0;     ///< With speculation: tokens whose KV is final.
  std::int64_t in_flight = 0;     ///< With speculation: steps in flight that have it.
  std::int64_t tree_len = 0;      ///< Tokens of kv_len that the tree holds for it.
  TreeNode* node = nullptr;       ///< Where they end, locked; nullptr where nothing is.
  std::int64_t host_len = 0;      ///< Tokens behind its prefix that the host has.
  TreeNode* host_node = nullptr;  ///< Where those end.
  bool has_state = false;         ///< It has a slot for its recurrent state.
  std::int64_t buffers = 0;       ///< Slots for states on its way.
  std::int64_t tracked = 0;   ///< Tokens up to the one that its last prefill step kept; 0: none.
  std::int64_t fork_len = 0;  ///< Where the tree's KV of its prompt goes on without a state.
  std::int64_t counted = 0;   ///< Keys whose nodes it has hit.
  std::int64_t delayed = 0;   ///< Slots that steps in flight fill behind its end.
  bool is_finished = false;
  bool holds_blocks = false;  ///< Leg::holds_blocks.
  bool loads = false;         ///< Leg::loads: its prompt is computed by a prefill server.
  /// The first token of its answer, which the prefill server sampled: a part of the prompt here.
  std::int64_t answered = 0;

  [[nodiscard]] std::int64_t num_tokens() const { return num_prompt_tokens + outputs; }
  /// Tokens of the prompt, and of the answer that is known or may be asked for: as its client
  /// counts them.
  [[nodiscard]] std::int64_t prompt() const { return num_prompt_tokens - answered; }
  [[nodiscard]] std::int64_t answer() const { return outputs + answered; }
  [[nodiscard]] std::int64_t most_answer() const { return max_output_tokens + answered; }
  /// Keys of so many tokens.
  [[nodiscard]] std::int64_t num_keys(std::int64_t num) const {
    return std::max<std::int64_t>(num - unkeyed, 0);
  }
};
using RequestPtr = std::shared_ptr<Sequence>;
using RequestList = std::vector<RequestPtr>;
using WaitingQueue = std::deque<RequestPtr>;

}  // namespace ridgeline::engine::sglang
