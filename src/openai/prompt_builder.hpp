#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/prompt.hpp"
#include "openai/request.hpp"
#include "openai/text/chat_tokens.hpp"
#include "openai/text/tokenizer.hpp"

namespace ridgeline::openai {

/// An answer that a server has given, found again in a later prompt.
struct KnownAnswer {
  core::RequestId request;
  core::Tokens tokens;
};
/// The answer that has exactly this text.
using FindAnswer = std::function<std::optional<KnownAnswer>(std::string_view text)>;

/// Makes of a prompt's tokens the segments that the engine's prefix cache compares: cut at every
/// multiple of a block from the prompt's beginning, each named by a hash of its tokens, the salt
/// and the adapter, so that prompts share the blocks in which all tokens so far are equal.
class PromptBuilder {
 public:
  /// `salt` tells apart what equal tokens do not make equal. `tokenizer`: that of a file, or null.
  PromptBuilder(core::Tokens block_size,
                std::uint64_t salt,
                const text::Tokenizer* tokenizer = nullptr);

  /// The tokens of a text: the tokenizer's, or pieces (text::Pieces).
  void add_text(std::string_view text);
  void add_ids(std::span<const std::int64_t> ids);
  /// `count` special tokens that `tag` names.
  void add_special(std::int64_t count, std::string_view tag);
  /// `text`: what the answer is.
  void add_answer(const KnownAnswer& answer, std::string_view text);
  /// The next so many tokens are left out: a prompt is cut at its beginning.
  void leave_out(std::int64_t tokens) { to_leave_out_ = tokens; }
  /// From here on the ids of the tokens are kept: as /tokenize gives them, and some from 126,000 on
  /// for special tokens.
  void keep_ids() { keeps_ids_ = true; }

  [[nodiscard]] core::Tokens tokens() const { return core::Tokens(tokens_); }
  /// Whether some of it is an estimate.
  [[nodiscard]] bool is_estimate() const { return is_estimate_; }
  /// Everything added. Once.
  [[nodiscard]] domain::Prompt take();
  /// The ids that were kept. Once.
  [[nodiscard]] std::vector<std::uint32_t> take_ids() { return std::move(ids_); }

 private:
  /// Whether the next token is left out. Once for each.
  bool leaves_out() {
    if (to_leave_out_ <= 0) {
      return false;
    }
    --to_leave_out_;
    return true;
  }
  void add_id(std::int64_t id);
  void add_token(std::uint64_t hash);
  void keep(std::int64_t id) { ids_.push_back(static_cast<std::uint32_t>(id)); }
  void end_segment();

  std::int64_t block_size_;
  const text::Tokenizer* tokenizer_;
  std::uint64_t salt_;
  std::int64_t tokens_ = 0;
  std::int64_t in_segment_ = 0;
  std::uint64_t hash_;
  std::int64_t to_leave_out_ = 0;
  bool is_estimate_ = false;
  bool keeps_ids_ = false;
  std::vector<std::uint32_t> ids_;
  domain::Prompt prompt_;
};

/// The tokens of a chat as its template lays them out: tools, messages, and the beginning of the
/// answer. `image_tokens`: of each image.
void add_chat(PromptBuilder& builder,
              std::span<const Message> messages,
              std::string_view tools,
              const text::ChatTokens& special,
              bool begins_answer,
              std::int64_t image_tokens,
              const FindAnswer& find_answer);

/// A hash of bytes, the same everywhere.
[[nodiscard]] std::uint64_t hash_text(std::string_view text, std::uint64_t seed = 0);

}  // namespace ridgeline::openai
