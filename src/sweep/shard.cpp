#include "sweep/shard.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "core/parse.hpp"
#include "core/result.hpp"

namespace ridgeline::sweep {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  const auto value = core::parse_whole<std::int64_t>(text);
  return value && *value >= 0 ? value : std::nullopt;
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
