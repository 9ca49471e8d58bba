#include "cli/piped_input.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/terminal.hpp"
#include "core/result.hpp"
#include "document/input_files.hpp"
#include "document/piped_files.hpp"

namespace ridgeline::cli {
namespace {

/// The most bytes of a pipe: disk that the user did not ask to be filled.
constexpr std::int64_t kMostPipedBytes = std::int64_t{4} * 1024 * 1024 * 1024;

core::Error pipe_error(const std::string& path, std::string message, std::string hint = {}) {
  return {.message = std::move(message), .where = {.file = path}, .hint = std::move(hint)};
}
std::string last_system_error() {
  return std::system_category().message(errno);
}

/// Whether the bytes of `path` come once: standard input whatever it is, and what has no size.
bool is_pipe(const std::string& path) {
  struct stat facts{};
  return path == "-" ||
         (stat(path.c_str(), &facts) == 0 && (S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode)));
}

core::Result<void> copy_bytes(int from, int to, const std::string& path) {
  std::vector<char> chunk(std::size_t{256} * 1024);
  std::int64_t copied = 0;
  for (;;) {
    const ssize_t size = read(from, chunk.data(), chunk.size());
    if (size < 0 && errno == EINTR) {
      continue;
    }
    if (size < 0) {
      return core::fail(pipe_error(path, "cannot be read: " + last_system_error()));
    }
    if (size == 0) {
      return {};
    }
    copied += size;
    if (copied > kMostPipedBytes) {
      return core::fail(
          pipe_error(path,
                     fmt::format("is a pipe that gives more than {} bytes, expected at most that",
                                 kMostPipedBytes),
                     "save it to a file"));
    }
    if (!write_all(to, {chunk.data(), static_cast<std::size_t>(size)})) {
      return core::fail(
          pipe_error(path, "cannot be copied to a temporary file: " + last_system_error()));
    }
  }
}

core::Result<void> copy_pipe(const std::string& path) {
  const bool standard = path == "-";
  if (standard && isatty(STDIN_FILENO) != 0) {
    return core::fail(pipe_error(path, "standard input is a terminal, expected a file or a pipe"));
  }
  const int from = standard ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) {
    return core::fail(pipe_error(path, "cannot be opened: " + last_system_error()));
  }
  if (standard) {
    document::note_input("/dev/stdin");  // It may be a file, by `<`, which no output may replace.
  }
  // It has no name, and goes with the process that holds it open.
  std::FILE* const copy = std::tmpfile();
  if (copy == nullptr) {
    return core::fail(
        pipe_error(path, "cannot be copied to a temporary file: " + last_system_error()));
  }
  const auto done = copy_bytes(from, fileno(copy), path);
  if (!standard) {
    close(from);
  }
  if (done) {
    document::read_instead(path, fmt::format("/proc/self/fd/{}", fileno(copy)));
  }
  return done;
}

}  // namespace

core::Result<void> copy_pipes(const Arguments& arguments) {
  std::vector<std::string> inputs = arguments.positionals;
  const std::string trace = arguments.value("trace");
  if (!trace.empty() && std::ranges::find(inputs, trace) == inputs.end()) {
    inputs.push_back(trace);
  }
  core::Errors errors;
  for (const std::string& path : inputs) {
    if (!is_pipe(path)) {
      continue;
    }
    if (const auto done = copy_pipe(path); !done) {
      errors.insert(errors.end(), done.error().begin(), done.error().end());
    }
  }
  return errors.empty() ? core::Result<void>() : core::fail(std::move(errors));
}

}  // namespace ridgeline::cli
