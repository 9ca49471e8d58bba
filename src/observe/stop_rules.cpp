#include "observe/stop_rules.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "document/reader.hpp"

namespace ridgeline::observe {
namespace {

std::optional<double> number_in(std::string_view text, double most) {
  const auto value = core::parse_whole<double>(text);
  return value && *value >= 0.0 && *value <= most ? value : std::nullopt;
}

constexpr double kPercent = 100.0;
constexpr double kMostInFlight = 1e9;

}  // namespace

core::Result<StopRule> parse_stop_rule(std::string_view text) {
  const auto refuse = [&] {
    return core::fail(core::Error{
        .field = "--stop-when",
        .message = fmt::format("found {}, expected errors>SHARE%, ttft_pNN>TIME, in_flight>N, or "
                               "never",
                               core::quote(text)),
        .where = {.file = "command line"},
        .hint = "--stop-when 'errors>5%'"});
  };
  const std::size_t sign = text.find('>');
  if (sign == std::string_view::npos) {
    return refuse();
  }
  const std::string_view what = text.substr(0, sign);
  std::string_view limit = text.substr(sign + 1);
  StopRule rule{.text = std::string(text)};
  std::optional<double> value;
  if (what == "errors" && limit.ends_with('%')) {
    limit.remove_suffix(1);
    value = number_in(limit, kPercent);
    rule.limit = value.value_or(0.0) / kPercent;
  } else if (what == "in_flight") {
    rule.what = StopRule::What::kInFlight;
    value = number_in(limit, kMostInFlight);
    rule.limit = value.value_or(0.0);
  } else if (what.starts_with("ttft_p")) {
    rule.what = StopRule::What::kTtft;
    const auto quantile = number_in(what.substr(std::string_view("ttft_p").size()), kPercent);
    const auto seconds = document::parse_quantity(std::string(limit), "seconds");
    if (quantile && seconds) {
      rule.quantile = *quantile / kPercent;
      value = *seconds;
      rule.limit = *seconds;
    }
  }
  if (!value) {
    return refuse();
  }
  return rule;
}

}  // namespace ridgeline::observe
