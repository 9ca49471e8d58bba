#pragma once

#include <cstdint>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/prompt.hpp"

namespace ridgeline::domain {

/// The content of what a request generates, so that a later prompt can contain it. Distinct from
/// every content that a workload hands out (top bit set).
constexpr std::uint64_t output_content(core::RequestId id) {
  return (std::uint64_t{1} << 63) | id.value();
}
/// The content of a prompt, or of its tail, that nothing else shares.
constexpr std::uint64_t unique_content(core::RequestId id) {
  return (std::uint64_t{1} << 62) | id.value();
}

/// One request as the workload states it. Only the engine may look at `output_tokens`: policies get
/// a RequestView.
struct Request {
  core::RequestId id;     ///< Numbered from 0 in the order of arrival.
  core::SimTime arrival;  ///< When the client sends it.
  core::Tokens prompt_tokens;
  core::Tokens output_tokens;  ///< Length at which it stops by itself; no policy sees it.
  core::Tokens max_tokens;     ///< The client's limit; generation ends at the smaller of the two.
  std::int32_t priority = 0;   ///< Lower is better (vLLM).
  core::LoraId lora;
  core::GrammarId grammar;  ///< Grammar of its structured output; none: it generates freely.
  core::SessionId session;
  std::int32_t turn = 0;       ///< In the session, from 0.
  core::LabelSetId label_set;  ///< In the workload's LabelSets; none where it has none.
  std::int32_t images = 0;     ///< Images in the prompt; their tokens are prompt tokens.
  std::int32_t rank = -1;      ///< The instance that its client wants, by number; -1: any.
  core::SimTime gives_up = core::SimTime::never();  ///< When its client cancels it.
  /// What the prompt holds, in order; its lengths sum to at most prompt_tokens. The rest, and all
  /// of it where this is empty, is unique to the request.
  Prompt prompt;
};

/// What a scheduler, router or admission policy may know of a request.
struct RequestView {
  core::RequestId id;
  core::SimTime arrival;
  core::Tokens prompt_tokens;
  core::Tokens max_tokens;
  std::int32_t priority = 0;
  core::LoraId lora;
  core::SessionId session;
};

constexpr RequestView view(const Request& request) {
  return {.id = request.id,
          .arrival = request.arrival,
          .prompt_tokens = request.prompt_tokens,
          .max_tokens = request.max_tokens,
          .priority = request.priority,
          .lora = request.lora,
          .session = request.session};
}

}  // namespace ridgeline::domain
