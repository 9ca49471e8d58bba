#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/sglang/radix_cache.hpp"
#include "engine/sglang/tokens.hpp"

namespace ridgeline::engine::sglang {

/// A request inside the scheduler, with what SGLang's Req keeps of it.
struct Sequence final : engine::Sequence {
  /// `longest`: prompt and output together that SGLang allows it.
  Sequence(const domain::Request& request, core::Tokens longest)
      : engine::Sequence(request, longest),
        tokens(request, std::max<std::int64_t>(max_output_tokens, 0)),
        salt(request.lora.value()),
        priority(request.priority) {}

  Tokens tokens;           ///< The prompt, and all that may be generated behind it.
  std::uint64_t salt = 0;  ///< Keeps the tree of an adapter apart (extra_key).
  std::int32_t priority = 0;
  bool ignore_eos = false;   ///< It generates max_new_tokens whatever comes.
  std::int64_t outputs = 0;  ///< Tokens generated and known.
  std::int64_t entered = 0;  ///< Stamp of its entry into the waiting queue.

  std::int64_t extend_len = 0;  ///< Tokens that its last prefill step computes, or would.
  std::int64_t prefix_len = 0;  ///< KV that the next prefill step goes on from.
  std::int64_t fill_len = 0;    ///< Where its last prefill step ends.
  std::int64_t kv_len = 0;      ///< Tokens whose KV it holds, in the tree or of its own.
  std::int64_t tree_len = 0;    ///< Tokens of kv_len that the tree holds for it.
  TreeNode* node = nullptr;     ///< Where they end, locked; nullptr where nothing is.
  std::int64_t delayed = 0;     ///< Slots that steps in flight fill behind its end.
  bool is_finished = false;

  [[nodiscard]] std::int64_t num_tokens() const { return num_prompt_tokens + outputs; }
};
using RequestPtr = std::shared_ptr<Sequence>;
using RequestList = std::vector<RequestPtr>;
using WaitingQueue = std::deque<RequestPtr>;

}  // namespace ridgeline::engine::sglang
