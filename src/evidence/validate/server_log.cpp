#include "evidence/validate/server_log.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "document/document.hpp"
#include "evidence/validate/result_document.hpp"
#include "evidence/validate/strict_map.hpp"
#include "scenario/options.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// What follows `mark` in a line; nothing where the line has it not.
std::optional<std::string_view> behind(std::string_view line, std::string_view mark) {
  const std::size_t at = line.find(mark);
  return at == std::string_view::npos ? std::nullopt : std::optional(line.substr(at + mark.size()));
}

std::optional<double> leading_number(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" :"), text.size());
  std::string digits;
  for (const char c : text.substr(begin)) {
    if (c != ',' && c != '.' && std::isdigit(static_cast<unsigned char>(c)) == 0) {
      break;
    }
    digits += c == ',' ? "" : std::string(1, c);
  }
  double value = 0.0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && end != digits.data() ? std::optional(value) : std::nullopt;
}

/// "0.11.0" of "version 0.11.0" and of "(v0.11.0) with config: ...".
std::string leading_version(std::string_view text) {
  const auto is_of_version = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '+';
  };
  return {text.begin(), std::ranges::find_if_not(text, is_of_version)};
}

std::optional<bool> truth_behind(std::string_view line, std::string_view key) {
  const auto text = behind(line, key);
  return !text                        ? std::nullopt
         : text->starts_with("True")  ? std::optional(true)
         : text->starts_with("False") ? std::optional(false)
                                      : std::nullopt;
}

/// Python's text of the flags is a flow map of YAML.
void take_flags(std::string_view text, ServerLog& log) {
  const auto flags = document::parse_yaml(text, "vllm.log");
  if (!flags || !flags->is_map()) {
    return;
  }
  StrictMap given(&*flags, "flags");
  for (const auto& member : flags->members()) {
    std::string value = given.flag(member.key);
    if (value == "True" || value == "False") {
      value = core::lower_case(value);
    }
    if (!value.empty() && scenario::find_option("engine." + member.key) != nullptr) {
      log.flags.emplace_back(member.key, std::move(value));
    }
  }
}

}  // namespace

ServerLog read_server_log(std::string_view text) {
  ServerLog log;
  std::optional<double> weights_gib;
  std::optional<double> cache_gib;
  const auto take = [](auto& slot, auto value) { slot = slot ? slot : value; };
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (const auto version = behind(line, "API server version "); version && log.version.empty()) {
      log.version = leading_version(*version);
    }
    if (const auto version = behind(line, "LLM engine (v"); version && log.version.empty()) {
      log.version = leading_version(*version);
    }
    if (const auto flags = behind(line, "non-default args: "); flags && log.flags.empty()) {
      take_flags(*flags, log);
    }
    for (const std::string_view mark : {"num_gpu_blocks is: ", "# GPU blocks: "}) {
      if (const auto rest = behind(line, mark); rest && !log.blocks) {
        if (const auto blocks = leading_number(*rest)) {
          log.blocks = static_cast<std::int64_t>(*blocks);
        }
      }
    }
    if (const auto rest = behind(line, "Model loading took ")) {
      take(weights_gib, leading_number(*rest));
    }
    if (const auto rest = behind(line, "Available KV cache memory: ")) {
      take(cache_gib, leading_number(*rest));
    }
    take(log.prefix_caching, truth_behind(line, "enable_prefix_caching="));
    take(log.chunked_prefill, truth_behind(line, "chunked_prefill_enabled="));
  }
  if (weights_gib && cache_gib) {
    log.memory_gib = *weights_gib + *cache_gib;
  }
  log.is_empty = log.version.empty() && !log.blocks && log.flags.empty();
  return log;
}

}  // namespace ridgeline::evidence::validate
