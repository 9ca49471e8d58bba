#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "openai/prompt_builder.hpp"

namespace ridgeline::serve {

/// Answers that later prompts may go on from, by a hash of their text: the last ones, so many at
/// most.
class KnownAnswers {
 public:
  explicit KnownAnswers(std::size_t most) : most_(most) {}

  void remember(std::string_view text, const openai::KnownAnswer& answer) {
    const std::uint64_t hash = openai::hash_text(text);
    if (!known_.insert_or_assign(hash, answer).second) {
      return;
    }
    order_.push_back(hash);
    if (order_.size() > most_) {
      known_.erase(order_.front());
      order_.pop_front();
    }
  }
  [[nodiscard]] std::optional<openai::KnownAnswer> find(std::string_view text) const {
    const auto found = known_.find(openai::hash_text(text));
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::size_t most_;
  std::unordered_map<std::uint64_t, openai::KnownAnswer> known_;
  std::deque<std::uint64_t> order_;
};

}  // namespace ridgeline::serve
