#include "report/format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "core/characters.hpp"
#include "core/text.hpp"
#include "core/units.hpp"

namespace ridgeline::report {
namespace {

constexpr std::size_t kGroup = 3;

/// Puts a space before every third digit, counted from the end.
std::string group_digits(std::string_view digits) {
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % kGroup == 0) {
      text += ' ';
    }
    text += digits[i];
  }
  return text;
}

/// Whether a byte continues a UTF-8 character (10xxxxxx).
bool continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// What a terminal without a sign of ours shows in its place.
std::string_view in_ascii(std::string_view sign) {
  constexpr auto kSigns =
      std::to_array<std::pair<std::string_view, std::string_view>>({{"\u2013", "-"},
                                                                    {"\u2212", "-"},
                                                                    {"\u2026", ".."},
                                                                    {"\u00d7", "x"},
                                                                    {"\u2264", "<="},
                                                                    {"\u2265", ">="},
                                                                    {"\u2192", "->"},
                                                                    {"\u2581", "."},
                                                                    {"\u2582", ":"},
                                                                    {"\u2583", "-"},
                                                                    {"\u2584", "="},
                                                                    {"\u2585", "+"},
                                                                    {"\u2586", "*"},
                                                                    {"\u2587", "#"},
                                                                    {"\u2588", "@"}});
  const auto known = std::ranges::find(kSigns, sign, [](const auto& pair) { return pair.first; });
  return known == kSigns.end() ? "?" : known->second;
}

}  // namespace

std::string grouped(std::int64_t value) {
  const std::string digits = fmt::format("{}", value);
  return value < 0 ? "-" + group_digits(std::string_view(digits).substr(1)) : group_digits(digits);
}

std::string counted(std::int64_t count, std::string_view noun) {
  return grouped(count) + " " + core::plural(noun, count);
}

std::string significant(double value) {
  if (!std::isfinite(value)) {
    return "?";
  }
  if (value == 0.0) {
    return "0";
  }
  if (value < 0.0) {
    return "-" + significant(-value);
  }
  if (value >= 1e15) {
    return fmt::format("{:.3g}", value);
  }
  if (value >= 99.95) {
    return group_digits(fmt::format("{:.0f}", value));
  }
  if (value >= 9.995) {
    return fmt::format("{:.1f}", value);
  }
  if (value >= 0.9995) {
    return fmt::format("{:.2f}", value);
  }
  if (value >= 0.1) {
    return fmt::format("{:.3f}", value);
  }
  return value >= 1e-4 ? fmt::format("{:.3g}", value) : fmt::format("{:.2e}", value);
}

std::string percent(double share) {
  const double value = share * 100.0;
  if (value == 0.0 || value >= 99.95) {
    return fmt::format("{:.0f} %", value);
  }
  if (value < 0.05) {
    return "<0.1 %";
  }
  return fmt::format("{:.1f} %", value);
}

std::string human_duration(double seconds) {
  if (!(seconds >= 0.0) || seconds > 1e15) {
    return "?";
  }
  if (seconds < 0.9995) {
    return fmt::format("{:.2g} s", seconds);
  }
  if (seconds < 59.95) {
    return fmt::format("{:.3g} s", seconds);
  }
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  if (whole < kHour) {
    return fmt::format("{} m {:02} s", whole / kMinute, whole % kMinute);
  }
  const std::int64_t minutes = (whole + kMinute / 2) / kMinute;
  if (minutes * kMinute < kDay) {
    return fmt::format("{} h {:02} m", minutes / kMinute, minutes % kMinute);
  }
  const std::int64_t hours = (whole + kHour / 2) / kHour;
  return fmt::format("{} d {:02} h", hours / 24, hours % 24);
}

TimeUnit time_unit(double typical_ms) {
  if (typical_ms >= 1000.0) {
    return {"s", 1e-3};
  }
  return typical_ms >= 1.0 ? TimeUnit{"ms", 1.0} : TimeUnit{"us", 1e3};
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (const char byte : text) {
    width += continues(byte) ? 0U : 1U;
  }
  return width;
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t used = display_width(text);
  return std::string(used < width ? width - used : 0, ' ').append(text);
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t used = display_width(text);
  return std::string(text).append(used < width ? width - used : 0, ' ');
}

std::string printable(std::string_view text, bool ascii) {
  constexpr char32_t kLargestAscii = 0x7F;
  std::string safe;
  for (std::size_t at = 0; at < text.size();) {
    const core::Character character = core::character_at(text, at);
    const std::string_view shown = text.substr(at, character.length);
    safe += !character.is_printable()                   ? "?"
            : !ascii || character.code <= kLargestAscii ? shown
                                                        : in_ascii(shown);
    at += character.length;
  }
  return safe;
}

std::string shortened(std::string_view text, std::size_t width, bool ascii) {
  const std::size_t used = display_width(text);
  if (used <= width) {
    return std::string(text);
  }
  const std::string_view mark = ascii ? ".." : "\u2026";
  const std::size_t mark_width = display_width(mark);
  if (width <= mark_width) {
    return std::string(width, '.');
  }
  const std::size_t kept = width - mark_width;
  const std::size_t head = kept - kept / 2;
  const std::size_t tail_from = used - kept / 2;
  std::string cut;
  std::size_t column = 0;
  bool marked = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    column += i > 0 && !continues(text[i]) ? 1U : 0U;
    if (column < head || column >= tail_from) {
      cut += text[i];
    } else if (!marked) {
      cut += mark;
      marked = true;
    }
  }
  return cut;
}

std::string markdown_cell(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|') {
      safe += "\\|";
    } else {
      safe += c == '\n' || c == '\r' ? ' ' : c;
    }
  }
  return safe;
}

}  // namespace ridgeline::report
