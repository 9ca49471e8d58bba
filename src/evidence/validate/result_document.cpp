#include "evidence/validate/result_document.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/gzip.hpp"
#include "evidence/validate/evidence_limits.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// Texts and gaps of single requests: most of a file's bytes.
constexpr auto kSteppedOver = std::to_array<std::string_view>({"itls",
                                                               "gaps_us",
                                                               "generated_texts",
                                                               "request",
                                                               "response",
                                                               "request_args",
                                                               "inter_chunk_latency"});
constexpr auto kEndsOf = std::to_array<std::string_view>({"output_token_times"});

/// The second of two members of one map with the same key, or nullptr.
const document::Node::Member* repeated_member(const document::Node& node) {
  if (node.is_list()) {
    for (const auto& item : node.items()) {
      if (const auto* found = repeated_member(item)) {
        return found;
      }
    }
  }
  if (!node.is_map()) {
    return nullptr;
  }
  std::set<std::string_view> keys;
  for (const auto& member : node.members()) {
    if (!keys.insert(member.key).second) {
      return &member;
    }
    if (const auto* found = repeated_member(member.value)) {
      return found;
    }
  }
  return nullptr;
}

}  // namespace

core::Result<document::Node> parse_result(std::string_view text, const std::string& path) {
  auto document =
      document::parse_json(text,
                           path,
                           document::JsonOptions{.non_finite = document::NonFinite::kReadAsNull,
                                                 .most_bytes = kMostFileBytes,
                                                 .stepped_over = kSteppedOver,
                                                 .ends_of = kEndsOf});
  if (!document) {
    return document;
  }
  if (const auto* again = repeated_member(*document)) {
    return core::fail(
        core::Error{.message = fmt::format("\"{}\" is given twice, expected once", again->key),
                    .where = again->where});
  }
  return document;
}

core::Result<document::Node> read_result_document(const std::string& path) {
  const auto text = document::read_unpacked(path, kMostFileBytes);
  return text ? parse_result(*text, path) : core::fail(text.error());
}

core::Result<std::vector<ResultLine>> read_result_lines(const std::string& path) {
  const auto text = document::read_unpacked(path, kMostFileBytes);
  if (!text) {
    return core::fail(text.error());
  }
  std::vector<ResultLine> lines;
  std::int64_t number = 0;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string_view line = next_line(rest);
    ++number;
    if (is_blank(line)) {
      continue;
    }
    if (lines.size() == kMostRecords) {
      return core::fail(
          core::Error{.message = fmt::format("holds more than {} lines", kMostRecords),
                      .where = {.file = path}});
    }
    lines.push_back({.number = number, .node = parse_result(line, path)});
  }
  return lines;
}

std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (!line.empty() && line.back() == '\r') {
    line.remove_suffix(1);
  }
  return line;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace ridgeline::evidence::validate
