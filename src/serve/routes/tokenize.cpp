#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "openai/answer_text.hpp"
#include "openai/answers.hpp"
#include "openai/request.hpp"
#include "openai/text/chat_tokens.hpp"
#include "openai/text/tokenizer.hpp"
#include "openai/token_requests.hpp"
#include "serve/emulator.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/http_parser.hpp"
#include "serve/routes/routes.hpp"

namespace ridgeline::serve {
namespace {

/// The id of special tokens, which no text has.
constexpr std::int64_t kSpecialId = 1;

}  // namespace

void answer_tokenize(Emulator& emulator,
                     net::Connection& connection,
                     const net::HttpRequest& request) {
  const auto wanted = read_json(emulator, connection, request, openai::parse_tokenize);
  if (!wanted) {
    return;
  }
  std::vector<std::int64_t> ids;
  std::vector<std::string> strings;
  const auto add_special = [&](std::int64_t count) {
    ids.insert(ids.end(), static_cast<std::size_t>(count), kSpecialId);
    strings.insert(strings.end(), static_cast<std::size_t>(count), "");
  };
  const text::Tokenizer* const tokenizer = emulator.settings().tokenizer.get();
  const auto add_text = [&](std::string_view text) {
    openai::each_token(text, tokenizer, [&](std::string_view piece, std::int64_t id) {
      ids.push_back(id);
      if (tokenizer == nullptr && openai::word_of(id).empty()) {
        emulator.remember_piece(id, piece);
      }
      strings.emplace_back(piece);
    });
  };
  if (wanted->prompt) {
    if (wanted->add_special_tokens) {
      add_special(emulator.settings().bos_tokens);
      for (const std::int64_t id : emulator.settings().begin_ids) {
        ids.push_back(id);
        strings.push_back(emulator.piece_of(id));
      }
    }
    add_text(*wanted->prompt);
  } else {
    const text::ChatTokens& special = emulator.settings().chat_tokens;
    add_special(special.fixed);
    for (const openai::Message& message : wanted->messages) {
      const text::Around around = text::around(special, message.role);
      add_special(around.before);
      add_text(message.text);
      add_special(around.behind);
    }
    if (wanted->add_generation_prompt) {
      add_special(special.start);
    }
  }
  emulator.answer(
      connection,
      200,
      net::kJsonType,
      openai::tokenize_answer(
          ids,
          wanted->return_token_strings ? std::optional(std::move(strings)) : std::nullopt,
          emulator.max_model_len()));
}

void answer_detokenize(Emulator& emulator,
                       net::Connection& connection,
                       const net::HttpRequest& request) {
  const auto wanted = read_json(emulator, connection, request, openai::parse_detokenize);
  if (!wanted) {
    return;
  }
  std::string text;
  for (const std::int64_t id : wanted->tokens) {
    const std::string piece = emulator.piece_of(id);
    // A word of this server's own stands behind a space, but for the first one.
    const bool drops_blank = emulator.settings().tokenizer == nullptr && text.empty();
    text += drops_blank && piece.starts_with(' ') ? piece.substr(1) : piece;
  }
  emulator.answer(connection, 200, net::kJsonType, openai::detokenize_answer(text));
}

}  // namespace ridgeline::serve
