#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <tl/expected.hpp>

#include "openai/api_version.hpp"

namespace ridgeline::openai {

/// An answer that is an error, in vLLM's words.
struct ApiError {
  int status = 400;
  std::string type = "BadRequestError";
  std::string message = {};
  std::optional<std::string> param = {};
};
template <class T>
using ApiResult = tl::expected<T, ApiError>;

/// What a schema refuses: vLLM gives it the phrase of the status as its type.
[[nodiscard]] ApiError bad_request(std::string message, std::optional<std::string> param = {});
/// What vLLM's own checks refuse.
[[nodiscard]] ApiError refused(std::string message, std::optional<std::string> param = {});
[[nodiscard]] ApiError not_found(std::string message, std::optional<std::string> param = {});
/// What vLLM's handler of responses refuses: it names the parameter since kErrorParams.
[[nodiscard]] ApiError invalid_response_request(std::string message,
                                                std::string param,
                                                ApiVersion version);

/// What a request gets that a dead engine should have answered.
[[nodiscard]] ApiError dead_engine();
/// For a request that takes more memory than there is.
[[nodiscard]] ApiError out_of_memory();

/// Texts of clients are shown up to here.
inline constexpr std::size_t kLongestMessage = 1024;

/// The body of the answer, as that version words it: nested in "error", and flat before 0.10.1.
[[nodiscard]] std::string error_body(const ApiError& error, ApiVersion version);
/// As an event of a stream that began well.
[[nodiscard]] std::string error_event(const ApiError& error, ApiVersion version);

}  // namespace ridgeline::openai
