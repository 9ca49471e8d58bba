#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace ridgeline::text {

/// Words of which each is one token for every tokenizer in wide use (words.cpp): a text of N of
/// them, with single spaces between them, is N tokens.
inline constexpr std::size_t kNumWords = 1024;

/// Word `number` modulo kNumWords.
[[nodiscard]] std::string_view word(std::size_t number);
/// The number of a word; nothing where it is none of them.
[[nodiscard]] std::optional<std::size_t> word_number(std::string_view text);

}  // namespace ridgeline::text
