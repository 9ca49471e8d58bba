#include "serve/fault.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/parse.hpp"
#include "core/time.hpp"
#include "document/reader.hpp"

namespace ridgeline::serve {
namespace {

// In the order of Fault::Kind.
constexpr std::array<std::string_view, 4> kKinds = {"error", "stall", "disconnect", "die"};

std::optional<double> number_in(std::string_view text, double lowest, double highest) {
  const auto number = core::parse_whole<double>(text);
  const bool is_number = number && std::isfinite(*number);
  return is_number && *number >= lowest && *number <= highest ? number : std::nullopt;
}

bool read_part(std::string_view key, const std::string& value, Fault& fault) {
  constexpr double kMostSeconds = 1e6;
  constexpr double kMostTokens = 1e9;
  if (key == "kind") {
    const auto found = std::ranges::find(kKinds, value);
    fault.kind =
        static_cast<Fault::Kind>(found == kKinds.end() ? 0 : std::distance(kKinds.begin(), found));
    return found != kKinds.end();
  }
  if (key == "for" || key == "at") {
    const auto seconds = document::parse_quantity(value, "seconds");
    const auto exact = seconds ? core::Duration::from_seconds(*seconds) : std::nullopt;
    (key == "at" ? fault.at : fault.lasts) = exact.value_or(core::Duration());
    return exact.has_value();
  }
  if (key == "share") {
    const auto share = number_in(value, 0.0, 1.0);
    fault.share = share.value_or(0.0);
    return share.has_value();
  }
  if (key == "status") {
    const auto status = number_in(value, 400.0, 599.0);
    fault.status = static_cast<int>(status.value_or(0.0));
    return status.has_value();
  }
  if (key == "retry-after" || key == "retry_after") {
    const auto seconds = number_in(value, 0.0, kMostSeconds);
    fault.retry_after = static_cast<std::int64_t>(seconds.value_or(0.0));
    return seconds.has_value();
  }
  if (key == "after-tokens" || key == "after_tokens") {
    const auto tokens = number_in(value, 1.0, kMostTokens);
    fault.after_tokens = static_cast<std::int64_t>(tokens.value_or(0.0));
    return tokens.has_value();
  }
  return false;
}

}  // namespace

std::string_view name(Fault::Kind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

std::optional<Fault> read_fault(const std::vector<std::pair<std::string, std::string>>& parts,
                                std::string& wrong) {
  Fault fault;
  bool has_kind = false;
  for (const auto& [key, value] : parts) {
    if (!read_part(key, value, fault)) {
      wrong = fmt::format("{}={}", key, value);
      return std::nullopt;
    }
    has_kind = has_kind || key == "kind";
  }
  if (!has_kind) {
    wrong = "it has no kind";
    return std::nullopt;
  }
  return fault;
}

}  // namespace ridgeline::serve
