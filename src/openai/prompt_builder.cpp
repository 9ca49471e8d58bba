#include "openai/prompt_builder.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/units.hpp"
#include "domain/prompt.hpp"
#include "domain/request.hpp"
#include "openai/answer_text.hpp"
#include "openai/request.hpp"
#include "openai/text/chat_tokens.hpp"
#include "openai/text/pieces.hpp"
#include "openai/text/tokenizer.hpp"

namespace ridgeline::openai {
namespace {

/// SplitMix64's scrambler (G. L. Steele, D. Lea, C. H. Flood, OOPSLA 2014).
constexpr std::uint64_t scramble(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EB;
  return x ^ (x >> 31U);
}

/// Contents of segments lie below it (workload::kContentLimit).
constexpr std::uint64_t kContents = std::uint64_t{1} << 62U;
/// Spaces of hashes: equal numbers of different kinds are different tokens.
constexpr std::uint64_t kIds = 1;
constexpr std::uint64_t kSpecial = 2;
/// Ids of special tokens lie behind those of text.
constexpr std::uint64_t kFirstSpecialId = 126'000;
constexpr std::uint64_t kSpecialIds = 2'000;

}  // namespace

std::uint64_t hash_text(std::string_view text, std::uint64_t seed) {
  // FNV-1a, 64 bits (G. Fowler, L. C. Noll, K.-P. Vo), scrambled.
  std::uint64_t hash = 0xCBF29CE484222325 ^ scramble(seed);
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  }
  return scramble(hash);
}

PromptBuilder::PromptBuilder(core::Tokens block_size,
                             std::uint64_t salt,
                             const text::Tokenizer* tokenizer)
    : block_size_(block_size.value()), tokenizer_(tokenizer), salt_(scramble(salt)), hash_(salt_) {}

void PromptBuilder::add_text(std::string_view text) {
  if (tokenizer_ != nullptr) {
    each_token(text, tokenizer_, [this](std::string_view, std::int64_t id) { add_id(id); });
    return;
  }
  text::Pieces pieces(text);
  while (const auto piece = pieces.next()) {
    if (leaves_out()) {
      continue;
    }
    add_token(hash_text(*piece));
    if (keeps_ids_) {
      keep(token_id_of(*piece));
    }
  }
  is_estimate_ = is_estimate_ || pieces.is_estimate();
}

void PromptBuilder::add_ids(std::span<const std::int64_t> ids) {
  for (const std::int64_t id : ids) {
    add_id(id);
  }
}

void PromptBuilder::add_id(std::int64_t id) {
  if (leaves_out()) {
    return;
  }
  add_token(scramble(scramble(kIds) ^ static_cast<std::uint64_t>(id)));
  if (keeps_ids_) {
    keep(id);
  }
}

void PromptBuilder::add_special(std::int64_t count, std::string_view tag) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (leaves_out()) {
      continue;
    }
    const std::uint64_t hash = hash_text(tag, kSpecial + static_cast<std::uint64_t>(i));
    add_token(hash);
    if (keeps_ids_) {
      keep(static_cast<std::int64_t>(kFirstSpecialId + hash % kSpecialIds));
    }
  }
}

void PromptBuilder::add_answer(const KnownAnswer& answer, std::string_view text) {
  if (to_leave_out_ > 0) {
    add_text(text);  // Its end alone is not what the cache holds.
  } else if (answer.tokens > core::Tokens(0)) {
    end_segment();
    prompt_.push_back({domain::output_content(answer.request), answer.tokens});
    tokens_ += answer.tokens.value();
    if (!keeps_ids_) {
      return;
    }
    each_token(text, tokenizer_, [this](std::string_view, std::int64_t id) {
      if (std::ssize(ids_) < tokens_) {
        keep(id);
      }
    });
    ids_.resize(static_cast<std::size_t>(tokens_));
  }
}

domain::Prompt PromptBuilder::take() {
  end_segment();
  return std::move(prompt_);
}

void PromptBuilder::add_token(std::uint64_t hash) {
  hash_ = scramble(hash_ ^ hash);
  ++in_segment_;
  if (++tokens_ % block_size_ == 0) {
    end_segment();
  }
}

void PromptBuilder::end_segment() {
  if (in_segment_ > 0) {
    prompt_.push_back({hash_ % kContents, core::Tokens(in_segment_)});
    in_segment_ = 0;
    hash_ = salt_;
  }
}

void add_chat(PromptBuilder& builder,
              std::span<const Message> messages,
              std::string_view tools,
              const text::ChatTokens& special,
              bool begins_answer,
              std::int64_t image_tokens,
              const FindAnswer& find_answer) {
  constexpr std::string_view kAssistant = "assistant";
  builder.add_special(special.fixed, "begin");
  builder.add_text(tools);
  for (const Message& message : messages) {
    const text::Around around = text::around(special, message.role);
    builder.add_special(around.before, message.role);
    builder.add_special(message.images * image_tokens, "image");
    const auto answer = message.role == kAssistant ? find_answer(message.text) : std::nullopt;
    if (answer) {
      builder.add_answer(*answer, message.text);
    } else {
      builder.add_text(message.text);
    }
    builder.add_special(around.behind, "end");
  }
  if (begins_answer) {
    builder.add_special(special.start, kAssistant);
  }
}

}  // namespace ridgeline::openai
