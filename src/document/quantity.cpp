#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "document/reader.hpp"

namespace ridgeline::document {
namespace {

/// A unit is `multiply / divide` base units: both are exact, so that 250 ms is the double nearest
/// to 0.25.
struct Unit {
  std::string_view name;
  double multiply = 1.0;
  double divide = 1.0;
};

struct Kind {
  std::string_view name;    ///< As callers say it.
  std::string_view spoken;  ///< As messages say it.
  std::string_view suffix;  ///< After the unit's name.
  std::span<const Unit> units;
};

// Powers of ten are the SI's prefixes, powers of two those of IEC 80000-13.
constexpr std::array<Unit, 9> kByteUnits = {{
    {.name = "B"},
    {.name = "kB", .multiply = 1e3},
    {.name = "MB", .multiply = 1e6},
    {.name = "GB", .multiply = 1e9},
    {.name = "TB", .multiply = 1e12},
    {.name = "KiB", .multiply = 1024.0},
    {.name = "MiB", .multiply = 1048576.0},
    {.name = "GiB", .multiply = 1073741824.0},
    {.name = "TiB", .multiply = 1099511627776.0},
}};
constexpr std::array<Unit, 12> kFlopUnits = {{
    {.name = "FLOP/s"},
    {.name = "kFLOP/s", .multiply = 1e3},
    {.name = "MFLOP/s", .multiply = 1e6},
    {.name = "GFLOP/s", .multiply = 1e9},
    {.name = "TFLOP/s", .multiply = 1e12},
    {.name = "PFLOP/s", .multiply = 1e15},
    {.name = "FLOPS"},
    {.name = "kFLOPS", .multiply = 1e3},
    {.name = "MFLOPS", .multiply = 1e6},
    {.name = "GFLOPS", .multiply = 1e9},
    {.name = "TFLOPS", .multiply = 1e12},
    {.name = "PFLOPS", .multiply = 1e15},
}};
constexpr std::array<Unit, 9> kTimeUnits = {{
    {.name = "ps", .divide = 1e12},
    {.name = "ns", .divide = 1e9},
    {.name = "us", .divide = 1e6},
    {.name = "ms", .divide = 1e3},
    {.name = "s"},
    {.name = "min", .multiply = 60.0},
    {.name = "m", .multiply = 60.0},
    {.name = "h", .multiply = 3600.0},
    {.name = "d", .multiply = 86400.0},
}};
constexpr std::array<Kind, 4> kKinds = {{
    {.name = "bytes", .spoken = "bytes", .suffix = "", .units = kByteUnits},
    {.name = "bytes_per_second", .spoken = "bytes per second", .suffix = "/s", .units = kByteUnits},
    {.name = "flops_per_second", .spoken = "FLOP per second", .suffix = "", .units = kFlopUnits},
    {.name = "seconds", .spoken = "a time", .suffix = "", .units = kTimeUnits},
}};

std::vector<std::string> unit_names(const Kind& kind) {
  std::vector<std::string> names;
  for (const Unit& unit : kind.units) {
    names.push_back(fmt::format("{}{}", unit.name, kind.suffix));
  }
  return names;
}

const Unit* find_unit(const Kind& kind, std::string_view name) {
  for (const Unit& unit : kind.units) {
    if (name.size() == unit.name.size() + kind.suffix.size() && name.starts_with(unit.name) &&
        name.ends_with(kind.suffix)) {
      return &unit;
    }
  }
  return nullptr;
}

std::string expected(const Kind& kind) {
  return fmt::format("expected {} ({})", kind.spoken, fmt::join(unit_names(kind), ", "));
}

/// "G" for "Gbps" and "Gbit/s", in which networks are sold; nothing for other units.
std::optional<std::string_view> prefix_of_bits(std::string_view unit) {
  for (const std::string_view bits : {"bps", "bit/s", "b/s"}) {
    const std::string_view prefix =
        unit.substr(0, unit.size() - std::min(bits.size(), unit.size()));
    if (unit.ends_with(bits) &&
        (prefix.empty() || std::string_view("kMGT").find(prefix) != std::string_view::npos)) {
      return prefix;
    }
  }
  return std::nullopt;
}

core::Error unit_problem(double number,
                         std::string_view text,
                         std::string_view unit,
                         const Kind& kind) {
  if (unit.empty()) {
    return {.message = fmt::format("{} has no unit, {}", core::quote(text), expected(kind))};
  }
  for (const Kind& other : kKinds) {
    if (find_unit(other, unit) != nullptr) {
      return {.message =
                  fmt::format("{} is {}, {}", core::quote(text), other.spoken, expected(kind))};
    }
  }
  if (const auto prefix = prefix_of_bits(unit); prefix && kind.suffix == "/s") {
    return {.message = fmt::format("{} counts bits, {}", core::quote(text), expected(kind)),
            .hint = fmt::format("8 bits are a byte: {}{}B/s", number / 8.0, *prefix)};
  }
  core::Error error{.message =
                        fmt::format("{} is not a unit, {}", core::quote(unit), expected(kind))};
  if (const auto near = nearest(unit, unit_names(kind))) {
    error.hint = fmt::format("did you mean '{}'?", *near);
  }
  return error;
}

/// A time of several parts, each of a smaller unit than the one before ("2h05m"); nothing where the
/// text is none.
std::optional<double> parse_parts(std::string_view text) {
  double sum = 0.0;
  const Unit* before = nullptr;
  int parts = 0;
  for (; !text.empty(); ++parts) {
    double number = 0.0;
    const auto parsed =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (parsed.ec != std::errc() || text.front() == '-') {
      return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    const std::string_view name = text.substr(0, text.find_first_of("0123456789."));
    const auto* const unit = std::ranges::find(kTimeUnits, name, &Unit::name);
    const bool is_smaller =
        unit != kTimeUnits.end() &&
        (before == nullptr || unit->multiply / unit->divide < before->multiply / before->divide);
    if (!is_smaller) {
      return std::nullopt;
    }
    text.remove_prefix(name.size());
    sum += number * unit->multiply / unit->divide;
    before = unit;
  }
  return parts > 1 && std::isfinite(sum) ? std::optional(sum) : std::nullopt;
}

}  // namespace

core::Result<double> parse_quantity(std::string_view text, std::string_view unit_kind) {
  const auto* const kind = std::find_if(
      kKinds.begin(), kKinds.end(), [unit_kind](const Kind& k) { return k.name == unit_kind; });
  RIDGELINE_CHECK(kind != kKinds.end(), unit_kind);
  const bool starts_number =
      !text.empty() && (text[0] == '.' || (text[0] >= '0' && text[0] <= '9'));
  double number = 0.0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (!starts_number || parsed.ec == std::errc::invalid_argument) {
    const std::string_view what =
        text.starts_with('-') ? "is negative" : "is not a number with a unit";
    return core::fail(
        core::Error{.message = fmt::format("{} {}, {}", core::quote(text), what, expected(*kind))});
  }
  std::string_view name = text.substr(static_cast<std::size_t>(parsed.ptr - text.data()));
  name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
  const Unit* const unit = find_unit(*kind, name);
  if (unit == nullptr) {
    if (const auto sum =
            kind->units.data() == kTimeUnits.data() ? parse_parts(text) : std::nullopt) {
      return *sum;
    }
    return core::fail(unit_problem(number, text, name, *kind));
  }
  const double value = number * unit->multiply / unit->divide;
  if (parsed.ec != std::errc() || !std::isfinite(value)) {
    return core::fail(core::Error{
        .message = fmt::format("{} is outside the range of a double", core::quote(text))});
  }
  return value;
}

}  // namespace ridgeline::document
