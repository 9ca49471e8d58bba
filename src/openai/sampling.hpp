#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "openai/body.hpp"

namespace ridgeline::openai {

/// What a body says of sampling. It changes no answer here; values that are wrong are refused as
/// vLLM refuses them (its SamplingParams, and the validators of its requests).
class SamplingReader {
 public:
  /// Reads a member; false where it is of something else.
  bool read(std::string_view key, BodyReader::Element value, BodyReader& reader);
  /// What the validators refuse, before anything else of the body is looked at.
  void validate(bool is_streamed, BodyReader& reader) const;
  /// What SamplingParams refuses.
  void check(BodyReader& reader) const;

  /// How many tokens of the prompt's end are to be kept: -1 for as many as the model takes.
  [[nodiscard]] std::optional<std::int64_t> truncate_prompt_tokens() const { return truncate_; }

 private:
  struct Number;
  struct Integer;

  std::optional<double> temperature_;
  std::optional<double> top_p_;
  std::optional<double> min_p_;
  std::optional<double> presence_;
  std::optional<double> frequency_;
  std::optional<double> repetition_;
  std::optional<std::int64_t> top_k_;
  std::optional<std::int64_t> seed_;
  std::optional<std::int64_t> prompt_logprobs_;
  std::optional<std::int64_t> truncate_;
};

}  // namespace ridgeline::openai
