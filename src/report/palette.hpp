#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ridgeline::report {

/// What a text says beside its words.
enum class Tone : std::uint8_t { kPlain, kGood, kWarn, kBad, kDim };

/// Four meanings, each an escape sequence that a terminal understands, or nothing where colour is
/// off. Colour only repeats what the words say.
struct Palette {
  std::string_view good;
  std::string_view warn;
  std::string_view bad;
  std::string_view dim;
  std::string_view reset;

  static constexpr Palette off() { return {}; }
  /// The standard colours, which follow the user's own terminal theme (ECMA-48, SGR).
  static constexpr Palette ansi() {
    return {.good = "\x1b[32m",
            .warn = "\x1b[33m",
            .bad = "\x1b[31m",
            .dim = "\x1b[2m",
            .reset = "\x1b[0m"};
  }

  [[nodiscard]] constexpr std::string_view of(Tone tone) const {
    switch (tone) {
      case Tone::kGood:
        return good;
      case Tone::kWarn:
        return warn;
      case Tone::kBad:
        return bad;
      case Tone::kDim:
        return dim;
      case Tone::kPlain:
        break;
    }
    return {};
  }
  /// `text` in one of this palette's colours.
  [[nodiscard]] std::string paint(std::string_view colour, std::string_view text) const {
    return std::string(colour).append(text).append(colour.empty() ? std::string_view() : reset);
  }
};

/// How text for a person is laid out. The command line, which knows the terminal, decides.
struct TextStyle {
  /// Columns. Tables use all of them before they cut or drop any; sentences at most 100.
  int width = 100;
  bool ascii = false;
  Palette palette = {};
  /// Beside the latencies of a run with series, how they are spread: for wide terminals.
  bool histograms = false;
  std::string saved_to = {};  ///< Where the result was written, if it was.
};

}  // namespace ridgeline::report
