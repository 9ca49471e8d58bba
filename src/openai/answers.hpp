#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "openai/answer_text.hpp"
#include "openai/api_version.hpp"
#include "openai/stream_events.hpp"
#include "openai/text/tokenizer.hpp"

namespace ridgeline::openai {

/// One choice of an answer that is not streamed.
struct Choice {
  std::string text;
  std::string reasoning = {};
  Finish finish;
  std::string logprobs = "null";          ///< JSON.
  std::string token_ids = "null";         ///< JSON.
  std::string prompt_token_ids = "null";  ///< JSON, like the next.
  std::string prompt_logprobs = "null";
  std::string tool_name = {};  ///< Name of a tool call; its arguments are `text`.
  std::string tool_id = {};
  std::int64_t reasoning_tokens = 0;
};

/// The body of a completion or a chat that is not streamed: every key of its version, nulls
/// included. `kv_transfer_params`: JSON.
[[nodiscard]] std::string whole_answer(const StreamHead& head,
                                       std::span<const Choice> choices,
                                       const Usage& usage,
                                       std::string_view kv_transfer_params = "null");

/// Log probabilities of tokens [first, last): well-formed, and the same for every token. `top`: so
/// many alternatives of each. `offset`: characters of the choice's text before them. `echoed`: the
/// prompt of a completion that stands before token 0; of its own first token nothing is known, as
/// vLLM has it.
[[nodiscard]] std::string logprobs_json(const AnswerText& text,
                                        std::int64_t first,
                                        std::int64_t last,
                                        std::int64_t top,
                                        bool is_chat,
                                        std::int64_t offset,
                                        std::string_view echoed = {});
/// Log probabilities of a prompt's tokens: of each the token itself alone, and of the first none,
/// as vLLM has it. Without a tokenizer, tokens that are no word have no text.
[[nodiscard]] std::string prompt_logprobs_json(std::span<const std::uint32_t> tokens,
                                               const text::Tokenizer* tokenizer = nullptr);
[[nodiscard]] std::string prompt_token_ids_json(std::span<const std::uint32_t> tokens);
/// Ids of tokens [first, last) as a JSON list.
[[nodiscard]] std::string token_ids_json(const AnswerText& text,
                                         std::int64_t first,
                                         std::int64_t last);

/// A model that is served: the network itself under a name, or an adapter of it.
struct ModelCard {
  std::string id;
  std::string root;
  std::optional<std::string> parent;
  std::int64_t max_model_len = 0;
};
[[nodiscard]] std::string models_answer(std::span<const ModelCard> models, std::int64_t created);
[[nodiscard]] std::string tokenize_answer(std::span<const std::int64_t> tokens,
                                          const std::optional<std::vector<std::string>>& strings,
                                          std::int64_t max_model_len);
[[nodiscard]] std::string detokenize_answer(std::string_view prompt);

}  // namespace ridgeline::openai
