#include "openai/text/chat_tokens.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace ridgeline::text {

ChatTokens chat_tokens_of(std::string_view network) {
  std::string name(network);
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const auto is = [&](std::string_view family) { return name.find(family) != std::string::npos; };
  if (is("qwen")) {
    return {.fixed = 0, .per_message = 5, .start = 3};
  }
  if (is("gemma")) {
    return {.fixed = 1, .per_message = 5, .start = 3};
  }
  if (is("deepseek")) {
    return {.fixed = 1, .per_message = 1, .start = 1, .marks_roles_alone = true};
  }
  return {};
}

Around around(const ChatTokens& tokens, std::string_view role) {
  if (tokens.marks_roles_alone) {
    return role == "system"      ? Around{}
           : role == "assistant" ? Around{.before = 1, .behind = 1}
                                 : Around{.before = 1, .behind = 0};
  }
  const std::int64_t before = std::min(tokens.start, tokens.per_message);
  return {.before = before, .behind = tokens.per_message - before};
}

}  // namespace ridgeline::text
