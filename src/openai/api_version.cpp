#include "openai/api_version.hpp"

#include <charconv>
#include <string_view>
#include <system_error>

namespace ridgeline::openai {

ApiVersion ApiVersion::parse(std::string_view engine_version) {
  constexpr std::string_view kPrefix = "vllm@0.";
  if (!engine_version.starts_with(kPrefix)) {
    return newest();
  }
  const std::string_view rest = engine_version.substr(kPrefix.size());
  ApiVersion version;
  const char* const end = rest.data() + rest.size();
  const auto minor = std::from_chars(rest.data(), end, version.minor);
  if (minor.ec != std::errc()) {
    return newest();
  }
  if (minor.ptr != end && *minor.ptr == '.') {
    std::from_chars(minor.ptr + 1, end, version.patch);
  }
  return version;
}

}  // namespace ridgeline::openai
