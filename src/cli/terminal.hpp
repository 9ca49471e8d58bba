#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace ridgeline::cli {

enum class ColorMode : std::uint8_t { kAuto, kAlways, kNever };

/// Width of a file or a pipe: no table is cut.
inline constexpr int kUnlimitedColumns = 10'000;

/// What may be shown on one output of the process.
struct Terminal {
  bool is_terminal = false;
  bool color = false;
  bool unicode = false;
  int columns = kUnlimitedColumns;
};

/// Looks at a file descriptor and the environment: NO_COLOR, CLICOLOR_FORCE, TERM, COLUMNS, LC_ALL,
/// LC_CTYPE and LANG. `ascii` forbids characters beyond ASCII.
[[nodiscard]] Terminal inspect_terminal(int descriptor, ColorMode color, bool ascii);

/// Opens what the caller has closed of standard input, output and error, such that using it fails:
/// otherwise the next file opened would take its place, and get what is printed.
void hold_standard_descriptors();

/// Writes text to a file descriptor, however many calls it takes. A reader that has gone (`| head`)
/// is no error, a full disk is.
[[nodiscard]] core::Result<void> write_all(int descriptor, std::string_view text);

/// While one lives, what this process writes to standard output and error is kept in it: a verb is
/// run inside another. One at a time.
class KeptOutput {
 public:
  KeptOutput();
  ~KeptOutput();
  KeptOutput(const KeptOutput&) = delete;
  KeptOutput& operator=(const KeptOutput&) = delete;
  KeptOutput(KeptOutput&&) = delete;
  KeptOutput& operator=(KeptOutput&&) = delete;

  /// Whether one lives: standard output is then free, whatever the verb around has made of it.
  [[nodiscard]] static bool is_open();

  std::string out;
  std::string err;
};

/// `error: field: message`, its place and its hint, in up to three lines.
[[nodiscard]] std::string render(const core::Error& error, const Terminal& terminal);
/// `warning W-code: message` with its hint.
[[nodiscard]] std::string render(const core::Warning& warning, const Terminal& terminal);

/// Renders to standard error, ignoring what cannot be written there.
void print_errors(const core::Errors& errors, const Terminal& terminal);

}  // namespace ridgeline::cli
