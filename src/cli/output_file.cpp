#include "cli/output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <ios>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include <utility>

#include <ext/stdio_filebuf.h>
#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/terminal.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "document/input_files.hpp"
#include "document/temporary.hpp"

namespace ridgeline::cli {

namespace {

constexpr std::string_view kStandardOutput = "-";

core::Error cannot_write(std::string_view flag,
                         const std::string& path,
                         std::string_view why,
                         std::string hint = {}) {
  return usage_error(flag, fmt::format("cannot write '{}': {}", path, why), std::move(hint));
}
core::Error is_also_input(std::string_view flag, const std::string& path) {
  return usage_error(flag,
                     fmt::format("'{}' is read by this command, which would replace it", path),
                     "name another file");
}
bool& standard_output_taken() {
  static bool taken = false;
  return taken;
}
/// A pipe fails when its reader has gone (`| head`), which is no error.
bool is_pipe_to_reader(int descriptor) {
  struct stat facts{};
  return fstat(descriptor, &facts) == 0 && (S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode));
}
std::string system_message() {
  return std::system_category().message(errno);
}

/// One spelling for all names of a place, whether there is a file or not.
std::string target_of(const std::string& path) {
  std::error_code failure;
  const auto canonical =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path, failure), failure);
  return failure ? path : canonical.string();
}

/// The descriptor that a path names, as /dev/stdout, /dev/fd/3 and /proc/self/fd/3 do. To open such
/// a path anew would write from another place than the shell and its other commands do.
std::optional<int> named_descriptor(std::string_view path) {
  if (path == kStandardOutput || path == "/dev/stdout") {
    return STDOUT_FILENO;
  }
  if (path == "/dev/stderr") {
    return STDERR_FILENO;
  }
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (path.starts_with(folder)) {
      if (const auto number = core::parse_whole<int>(path.substr(folder.size()))) {
        return number;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

struct OutputFile::Stream {
  explicit Stream(int descriptor)
      : buffer(descriptor, std::ios::out | std::ios::binary), stream(&buffer) {}

  /// Whether everything has been written.
  bool close() { return buffer.close() != nullptr && stream.good(); }

  __gnu_cxx::stdio_filebuf<char> buffer;
  std::ostream stream;
};

std::ostream& OutputFile::stream() {
  return stream_->stream;
}

bool OutputFile::has_standard_output() {
  return standard_output_taken() && !KeptOutput::is_open();
}

bool OutputFile::is_direct(const std::string& path) {
  struct stat facts{};
  return named_descriptor(path) ||
         (stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode));
}

core::Error OutputFile::writes_nothing(std::string_view flag, const std::string& path) {
  return usage_error(
      flag,
      fmt::format("--format quiet writes nothing to '{}', expected another format or "
                  "the name of a file",
                  path));
}

core::Result<OutputFile> OutputFile::open(std::string_view flag, const std::string& path) {
  if (path.empty()) {
    return core::fail(usage_error(flag, "is empty, expected the name of a file"));
  }
  if (const auto named = named_descriptor(path)) {
    if (*named == STDOUT_FILENO && std::exchange(standard_output_taken(), true)) {
      return core::fail(cannot_write(flag, path, "standard output is another output already"));
    }
    const int descriptor = fcntl(*named, F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0) {
      return core::fail(cannot_write(flag, path, system_message()));
    }
    return OutputFile(std::string(flag), path, path, descriptor);
  }
  const std::string target = target_of(path);
  struct stat facts{};
  const bool exists = stat(target.c_str(), &facts) == 0;
  if (exists && S_ISDIR(facts.st_mode)) {
    return core::fail(cannot_write(flag, path, "it is a folder", "name a file in it"));
  }
  if (exists && access(target.c_str(), W_OK) != 0) {
    return core::fail(cannot_write(flag, path, system_message()));
  }
  if (exists && !S_ISREG(facts.st_mode)) {
    const int device = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
    if (device < 0) {
      return core::fail(cannot_write(flag, path, system_message()));
    }
    return OutputFile(std::string(flag), path, target, device);
  }
  if (document::is_input(target)) {
    return core::fail(is_also_input(flag, path));
  }
  if (document::is_awaited(target)) {
    return core::fail(usage_error(flag, fmt::format("'{}' is also another output", path)));
  }
  auto made = document::Temporary::file_beside(target);
  if (!made) {
    return core::fail(cannot_write(flag, path, made.error().front().message));
  }
  OutputFile file(std::string(flag), path, target, made->descriptor);
  file.temporary_ = std::move(made->temporary);
  return file;
}

OutputFile::OutputFile(std::string flag, std::string path, std::string target, int descriptor)
    : flag_(std::move(flag)),
      path_(std::move(path)),
      target_(std::move(target)),
      stream_(std::make_unique<Stream>(descriptor)) {}

OutputFile::OutputFile(OutputFile&& other) noexcept = default;
OutputFile::~OutputFile() = default;

core::Result<void> OutputFile::commit() {
  errno = 0;
  const bool to_reader =
      !temporary_ && named_descriptor(path_) == STDOUT_FILENO && is_pipe_to_reader(STDOUT_FILENO);
  const bool written = stream_->close() || to_reader;
  const std::string why = errno == 0 ? "not everything could be written" : system_message();
  auto temporary = std::exchange(temporary_, std::nullopt);
  if (!written) {
    return core::fail(cannot_write(flag_, path_, why));
  }
  if (!temporary) {
    return {};
  }
  // An input may have been opened after this file was.
  if (document::is_input(target_)) {
    return core::fail(is_also_input(flag_, path_));
  }
  if (std::rename(temporary->path().c_str(), target_.c_str()) != 0) {
    return core::fail(cannot_write(flag_, path_, system_message()));
  }
  temporary->keep();
  return {};
}

}  // namespace ridgeline::cli
