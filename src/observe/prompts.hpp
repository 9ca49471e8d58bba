#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "domain/request.hpp"

namespace ridgeline::observe {

enum class Endpoint : std::uint8_t { kCompletions, kChat };
[[nodiscard]] constexpr std::string_view path_of(Endpoint endpoint) {
  return endpoint == Endpoint::kChat ? "/v1/chat/completions" : "/v1/completions";
}

enum class PromptForm : std::uint8_t {
  kWords,   ///< Words that are one token each (text/words.hpp).
  kTokens,  ///< Token ids: exact for every tokenizer; completions alone.
};

/// Tokens that a server adds to the words of a prompt: of its template, and the one that begins a
/// text.
struct Overhead {
  std::int64_t first = 0;         ///< To a prompt of one message, or without messages.
  std::int64_t each_message = 0;  ///< To each message after the first.
};

/// Whether a content is the answer to an earlier request (domain::output_content), and to which.
[[nodiscard]] constexpr bool is_answer(std::uint64_t content) {
  return (content >> 63U) != 0;
}
[[nodiscard]] constexpr std::uint64_t answered_request(std::uint64_t content) {
  return content & ~(std::uint64_t{1} << 63U);
}

/// Answers that later prompts quote, by request.
using Answers = std::map<std::uint64_t, std::string>;

/// Makes bodies of requests out of what the workload says of them. Token i of a content is a
/// function of (salt, content, i): prompts that begin alike in a simulation begin alike here.
class PromptMaker {
 public:
  struct Options {
    Endpoint endpoint = Endpoint::kCompletions;
    PromptForm form = PromptForm::kWords;
    Overhead overhead = {};
    std::uint64_t salt = 0;  ///< Tells runs apart, so that none finds its prompts in the cache.
    std::string model = {};  ///< As the server names it.
    bool natural_output = false;  ///< The model ends its answers itself.
  };

  explicit PromptMaker(Options options) : options_(std::move(options)) {}

  /// The JSON of a streamed request with usage; the answer has exactly its output_tokens unless it
  /// may end by itself.
  [[nodiscard]] std::string body(const domain::Request& request, const Answers& answers) const;
  /// Whether the words alone would be more tokens than the prompt may have: it has one word then.
  [[nodiscard]] bool is_shorter_than_overhead(const domain::Request& request) const;

  /// `count` words of a content.
  [[nodiscard]] std::string words(std::uint64_t content, std::int64_t count) const;

 private:
  struct Message {
    bool is_answer = false;
    std::string text;
  };
  [[nodiscard]] std::vector<Message> messages(const domain::Request& request,
                                              const Answers& answers) const;
  [[nodiscard]] std::vector<std::int64_t> token_ids(const domain::Request& request) const;
  void append_words(std::string& text, std::uint64_t content, std::int64_t count) const;

  Options options_;
};

}  // namespace ridgeline::observe
