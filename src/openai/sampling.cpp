#include "openai/sampling.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <simdjson.h>

#include "core/parse.hpp"
#include "openai/api_error.hpp"
#include "openai/body.hpp"

namespace ridgeline::openai {
namespace {

/// A number as Python prints a float: 3.0, not 3.
std::string python_float(double value) {
  std::string text = fmt::format("{}", value);
  const bool is_whole = text.find_first_not_of("-0123456789") == std::string::npos;
  return is_whole ? text + ".0" : text;
}

/// `rule`: "must be in [0, 1]".
void refuse(std::string_view key, std::string_view rule, std::string_view got, BodyReader& reader) {
  reader.fail(refused(fmt::format("{} {}, got {}.", key, rule, got), std::string(key)));
}

void refuse(std::string_view key, std::string_view rule, double got, BodyReader& reader) {
  refuse(key, rule, python_float(got), reader);
}

}  // namespace

struct SamplingReader::Number {
  std::string_view key;
  std::optional<double> SamplingReader::* value;
};

struct SamplingReader::Integer {
  std::string_view key;
  std::optional<std::int64_t> SamplingReader::* value;
};

bool SamplingReader::read(std::string_view key, BodyReader::Element value, BodyReader& reader) {
  static constexpr auto kNumbers =
      std::to_array<Number>({{"temperature", &SamplingReader::temperature_},
                             {"top_p", &SamplingReader::top_p_},
                             {"min_p", &SamplingReader::min_p_},
                             {"presence_penalty", &SamplingReader::presence_},
                             {"frequency_penalty", &SamplingReader::frequency_},
                             {"repetition_penalty", &SamplingReader::repetition_}});
  static constexpr auto kIntegers =
      std::to_array<Integer>({{"top_k", &SamplingReader::top_k_},
                              {"seed", &SamplingReader::seed_},
                              {"prompt_logprobs", &SamplingReader::prompt_logprobs_},
                              {"truncate_prompt_tokens", &SamplingReader::truncate_}});
  const auto* const number = std::ranges::find(kNumbers, key, &Number::key);
  if (number != kNumbers.end()) {
    reader.number(key, value, this->*(number->value));
    return true;
  }
  const auto* const integer = std::ranges::find(kIntegers, key, &Integer::key);
  if (integer != kIntegers.end()) {
    reader.integer(key, value, this->*(integer->value));
    return true;
  }
  if (key == "logit_bias") {
    read_bias(value, reader);
    return true;
  }
  if (key != "stop_token_ids") {
    return false;
  }
  if (std::vector<std::int64_t> ids; !is_null(value)) {
    reader.integers(key, value, ids);
  }
  return true;
}

/// {"token id": bias}: how strong it is makes no difference here.
void SamplingReader::read_bias(BodyReader::Element value, BodyReader& reader) {
  simdjson::dom::object object;
  biased_.clear();
  bad_bias_.reset();
  if (is_null(value)) {
    return;
  }
  if (value.get(object) != simdjson::SUCCESS) {
    reader.fail("logit_bias", "a valid dictionary");
    return;
  }
  for (const auto member : object) {
    std::optional<double> bias;
    reader.number("logit_bias", member.value, bias);
    if (reader.is_sound() && !bias) {
      reader.fail("logit_bias", "a valid number");
    }
    if (const auto token = core::parse_whole<std::int64_t>(member.key)) {
      biased_.push_back(*token);
    } else {
      bad_bias_ = bad_bias_.value_or(std::string(member.key));
    }
  }
}

void SamplingReader::validate(bool is_streamed, BodyReader& reader) const {
  if (!prompt_logprobs_) {
    return;
  }
  if (is_streamed && (*prompt_logprobs_ > 0 || *prompt_logprobs_ == -1)) {
    reader.fail(bad_request("Value error, `prompt_logprobs` are not available when `stream=True`.",
                            "prompt_logprobs"));
  } else if (*prompt_logprobs_ < -1) {
    reader.fail(bad_request("Value error, `prompt_logprobs` must be a positive value or -1.",
                            "prompt_logprobs"));
  }
}

void SamplingReader::check(std::int64_t most_logprobs, BodyReader& reader) const {
  constexpr double kMostPenalty = 2.0;
  if (presence_ && !(std::abs(*presence_) <= kMostPenalty)) {
    refuse("presence_penalty", "must be in [-2, 2]", *presence_, reader);
  } else if (frequency_ && !(std::abs(*frequency_) <= kMostPenalty)) {
    refuse("frequency_penalty", "must be in [-2, 2]", *frequency_, reader);
  } else if (repetition_ && !(*repetition_ > 0.0)) {
    refuse("repetition_penalty", "must be greater than zero", *repetition_, reader);
  } else if (temperature_ && !(*temperature_ >= 0.0)) {
    refuse("temperature", "must be non-negative", *temperature_, reader);
  } else if (top_p_ && !(*top_p_ > 0.0 && *top_p_ <= 1.0)) {
    refuse("top_p", "must be in (0, 1]", *top_p_, reader);
  } else if (top_k_ && *top_k_ < -1) {
    refuse("top_k", "must be 0 (disable), or at least 1", fmt::format("{}", *top_k_), reader);
  } else if (min_p_ && !(*min_p_ >= 0.0 && *min_p_ <= 1.0)) {
    refuse("min_p", "must be in [0, 1]", *min_p_, reader);
  } else if (truncate_ && (*truncate_ == 0 || *truncate_ < -1)) {
    reader.fail(refused(
        fmt::format("truncate_prompt_tokens must be an integer >= 1 or -1, got {}", *truncate_),
        "truncate_prompt_tokens"));
  } else if (bad_bias_) {  // Python's int() says so.
    reader.fail(refused(fmt::format("invalid literal for int() with base 10: '{}'", *bad_bias_)));
  } else if (most_logprobs >= 0 && prompt_logprobs_.value_or(0) > most_logprobs) {
    reader.fail(refused(
        fmt::format("Requested prompt logprobs of {}, which is greater than max allowed: {}",
                    *prompt_logprobs_,
                    most_logprobs),
        "prompt_logprobs"));
  }
}

}  // namespace ridgeline::openai
