#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/prompt.hpp"
#include "domain/request.hpp"

namespace ridgeline::domain {

/// The tokens of one request, prompt and output to come, as a chain of pieces of content. The key
/// of a position stands for all tokens before it: equal keys mean equal tokens (up to 64-bit
/// collisions), and any key costs a few multiplications, wherever it lies. What the prompt shares
/// with others of its conversation is referred to, not copied.
class Chain {
 public:
  /// A chain without tokens; assign() before use. Buffers are kept between tenants.
  Chain() = default;
  explicit Chain(const Request& request) { assign(request); }

  void assign(const Request& request) {
    assign(request.prompt,
           request.prompt_tokens,
           request.lora,
           unique_content(request.id),
           output_content(request.id));
  }
  /// A prompt of `prompt_tokens` tokens, of which those without a segment are of the content
  /// `unique`, and an answer of the content `output`.
  void assign(const Prompt& prompt,
              core::Tokens prompt_tokens,
              core::LoraId lora,
              std::uint64_t unique,
              std::uint64_t output) {
    history_ = prompt.history();
    const std::size_t shared = prompt.num_shared();
    history_tokens_ = shared > 0 ? history_->begin_of(shared) : 0;
    own_.restart(history_tokens_, shared > 0 ? history_->hash_before(shared) : 0);
    for (const Segment& segment : prompt.own()) {
      if (segment.length.value() > 0) {
        own_.append(segment);
      }
    }
    quotes_ = own_.quotes(own_.size()) || (shared > 0 && history_->quotes(shared));
    finish(prompt_tokens, lora, unique, output);
  }
  /// A request whose whole prompt is its own.
  void assign_unique(core::RequestId id, core::LoraId lora, core::Tokens prompt_tokens) {
    history_.reset();
    history_tokens_ = 0;
    own_.restart(0, 0);
    quotes_ = false;
    finish(prompt_tokens, lora, unique_content(id), output_content(id));
  }

  /// The key of the tokens [0, end); never 0. end >= 1.
  [[nodiscard]] std::uint64_t key(std::int64_t end) const {
    if (end > prompt_tokens_) {
      return History::key_in(output_hash_ ^ salt_, output_content_, end - prompt_tokens_);
    }
    if (end > shared_tokens_) {
      return History::key_in(tail_hash_ ^ salt_, unique_content_, end - shared_tokens_);
    }
    return end > history_tokens_ ? own_.key(end, salt_) : history_->key(end, salt_);
  }
  /// The prompt's tokens from shared_tokens() on, which only a prompt that quotes the request has.
  struct OwnTokens {
    std::uint64_t hash = 0;
    std::uint64_t content = 0;
    std::int64_t begin = 0;

    /// As Chain::key(), of an end in the prompt and behind `begin`.
    [[nodiscard]] std::uint64_t key(std::int64_t end) const {
      return History::key_in(hash, content, end - begin);
    }
  };
  [[nodiscard]] OwnTokens own_tokens() const {
    return {.hash = tail_hash_ ^ salt_, .content = unique_content_, .begin = shared_tokens_};
  }
  /// Leading tokens that another request may state as well: what follows is the request's own.
  [[nodiscard]] std::int64_t shared_tokens() const { return shared_tokens_; }
  /// Whether the prompt states what another request was asked or answered.
  [[nodiscard]] bool quotes() const { return quotes_; }

 private:
  void finish(core::Tokens prompt_tokens,
              core::LoraId lora,
              std::uint64_t unique,
              std::uint64_t output) {
    // An adapter changes every activation, hence every KV block.
    salt_ = History::salt_of(lora.value());
    shared_tokens_ = own_.begin_of(own_.size());
    prompt_tokens_ = prompt_tokens.value();
    unique_content_ = unique;
    output_content_ = output;
    tail_hash_ = own_.hash_before(own_.size());
    output_hash_ =
        prompt_tokens_ > shared_tokens_
            ? History::next_hash(tail_hash_, unique_content_, prompt_tokens_ - shared_tokens_)
            : tail_hash_;
  }

  std::shared_ptr<const History> history_;
  std::int64_t history_tokens_ = 0;  ///< Tokens of the history that belong to the prompt.
  History own_;                      ///< What the prompt states behind them.
  bool quotes_ = false;
  std::int64_t shared_tokens_ = 0;
  std::int64_t prompt_tokens_ = 0;
  std::uint64_t salt_ = 0;
  std::uint64_t tail_hash_ = 0;
  std::uint64_t output_hash_ = 0;
  std::uint64_t unique_content_ = 0;
  std::uint64_t output_content_ = 0;
};

}  // namespace ridgeline::domain
