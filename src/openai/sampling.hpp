#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "openai/body.hpp"

namespace ridgeline::openai {

inline constexpr std::int64_t kMostLogprobs = 20;  ///< vLLM's default of max_logprobs.

/// What a body says of sampling. It changes no answer here; values that are wrong are refused as
/// vLLM refuses them (its SamplingParams, and the validators of its requests).
class SamplingReader {
 public:
  /// Reads a member; false where it is of something else.
  bool read(std::string_view key, BodyReader::Element value, BodyReader& reader);
  /// What the validators refuse, before anything else of the body is looked at.
  void validate(bool is_streamed, BodyReader& reader) const;
  /// What SamplingParams refuses. `most_logprobs`: that a request may have; -1: any number.
  void check(std::int64_t most_logprobs, BodyReader& reader) const;

  /// How many tokens of the prompt's end are to be kept: -1 for as many as the model takes.
  [[nodiscard]] std::optional<std::int64_t> truncate_prompt_tokens() const { return truncate_; }
  [[nodiscard]] std::optional<std::int64_t> prompt_logprobs() const { return prompt_logprobs_; }
  /// The tokens of logit_bias.
  [[nodiscard]] const std::vector<std::int64_t>& biased_tokens() const { return biased_; }

 private:
  struct Number;
  struct Integer;

  void read_bias(BodyReader::Element value, BodyReader& reader);

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
  std::vector<std::int64_t> biased_;
  std::optional<std::string> bad_bias_;  ///< A key of logit_bias that is no token.
};

}  // namespace ridgeline::openai
