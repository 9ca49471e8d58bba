#include "sweep/shard.hpp"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "core/result.hpp"

namespace ridgeline::sweep {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

core::Result<Shard> read_shard(std::string_view text) {
  const auto slash = text.find('/');
  if (slash != std::string_view::npos) {
    const auto index = whole_number(text.substr(0, slash));
    const auto count = whole_number(text.substr(slash + 1));
    if (index && count && *index < *count && *count <= kMostShards) {
      return Shard{.index = *index, .count = *count};
    }
  }
  return core::fail(core::Error{
      .field = "--shard",
      .message = fmt::format(
          "found \"{}\", expected I/N with I from 0 to N - 1 and N up to {}", text, kMostShards),
      .where = {.file = "command line"},
      .hint = "--shard 0/8"});
}

}  // namespace ridgeline::sweep
