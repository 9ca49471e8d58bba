#include "cli/terminal.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "cli/exit_code.hpp"
#include "core/check.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "verbs/glossary.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::cli {

namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing here writes it
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool wants_color(bool is_terminal, ColorMode mode) {
  if (mode != ColorMode::kAuto) {
    return mode == ColorMode::kAlways;
  }
  if (!environment("NO_COLOR").empty()) {
    return false;
  }
  const auto force = environment("CLICOLOR_FORCE");
  if (!force.empty() && force != "0") {
    return true;
  }
  return is_terminal && environment("TERM") != "dumb";
}

/// The locale's character set, by the rules of POSIX: the first of these that is set decides.
bool speaks_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value(environment(name));
    if (!value.empty()) {
      std::ranges::transform(
          value, value.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
    }
  }
  return false;
}

int count_columns(int descriptor, bool is_terminal, int otherwise) {
  int columns = 0;
  const auto text = environment("COLUMNS");
  if (std::from_chars(text.data(), text.data() + text.size(), columns).ec == std::errc() &&
      columns > 0) {
    return columns;
  }
  winsize size{};
  // NOLINTNEXTLINE(misc-include-cleaner): TIOCGWINSZ is sys/ioctl.h's by POSIX 2024
  if (is_terminal && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return size.ws_col;
  }
  return otherwise;
}

std::string paint(std::string_view text, const char* code, const Terminal& terminal) {
  return terminal.color ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}
/// The one that lives, if any.
KeptOutput*& kept_output() {
  static KeptOutput* kept = nullptr;
  return kept;
}

constexpr const char* kBoldRed = "1;31";
constexpr const char* kBoldYellow = "1;33";
constexpr const char* kDim = "2";

}  // namespace

ExitCode exit_code(const core::Errors& errors) {
  return static_cast<ExitCode>(verbs::exit_code(errors));
}

Terminal inspect_terminal(int descriptor, ColorMode color, bool ascii) {
  Terminal terminal;
  terminal.is_terminal = isatty(descriptor) == 1;
  terminal.color = wants_color(terminal.is_terminal, color);
  terminal.unicode = !ascii && speaks_utf8();
  terminal.columns = count_columns(descriptor, terminal.is_terminal, terminal.columns);
  return terminal;
}

void hold_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) == -1) {
      // The lowest free number is this one. Opened the wrong way round, so that it cannot be used.
      static_cast<void>(open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY));
    }
  }
}

KeptOutput::KeptOutput() {
  RIDGELINE_CHECK(std::exchange(kept_output(), this) == nullptr, "one kept output at a time");
}

KeptOutput::~KeptOutput() {
  kept_output() = nullptr;
}

bool KeptOutput::is_open() {
  return kept_output() != nullptr;
}

core::Result<void> write_all(int descriptor, std::string_view text) {
  if (KeptOutput* kept = kept_output();
      kept != nullptr && (descriptor == STDOUT_FILENO || descriptor == STDERR_FILENO)) {
    (descriptor == STDOUT_FILENO ? kept->out : kept->err) += text;
    return {};
  }
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      return {};
    } else if (errno != EINTR) {
      return core::fail(
          core::ErrorCode::kUsage,
          fmt::format("cannot write standard output: {}", std::system_category().message(errno)));
    }
  }
  return {};
}

std::string render(const core::Error& error, const Terminal& terminal) {
  std::string text = paint("error:", kBoldRed, terminal);
  if (!error.field.empty()) {
    text += ' ' + core::escaped(error.field) + ':';
  }
  text += ' ' + core::escaped(error.message) + '\n';
  if (!error.where.file.empty()) {
    std::string place = core::shown_path(error.where.file);
    if (error.where.line > 0) {
      place += fmt::format(":{}", error.where.line);
    }
    if (error.where.line > 0 && error.where.column > 0) {
      place += fmt::format(":{}", error.where.column);
    }
    text += fmt::format(" {} {}\n", paint("-->", kDim, terminal), place);
  }
  if (!error.hint.empty()) {
    text += fmt::format("{} {}\n", paint("hint:", kDim, terminal), core::escaped(error.hint));
  }
  return text;
}

std::string render(const core::Warning& warning, const Terminal& terminal) {
  std::string text = fmt::format("{} {}\n",
                                 paint("warning " + warning.code + ":", kBoldYellow, terminal),
                                 core::escaped(warning.message));
  if (!warning.hint.empty()) {
    text += fmt::format("{} {}\n", paint("hint:", kDim, terminal), core::escaped(warning.hint));
  }
  return text;
}

void print_errors(const core::Errors& errors, const Terminal& terminal) {
  std::string text;
  for (const auto& error : errors) {
    text += render(verbs::with_translation(error), terminal);
  }
  static_cast<void>(write_all(STDERR_FILENO, text));
}

}  // namespace ridgeline::cli
