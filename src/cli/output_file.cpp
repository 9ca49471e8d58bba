#include "cli/output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/types.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"

namespace ridgeline::cli {

namespace {

constexpr std::string_view kStandardOutput = "-";
constexpr mode_t kFileMode = 0666;  // narrowed by the umask

core::Error cannot_write(const std::string& path, std::string_view why, std::string hint = {}) {
  return {.message = fmt::format("cannot write '{}': {}", path, why), .hint = std::move(hint)};
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

}  // namespace

bool OutputFile::has_standard_output() {
  return standard_output_taken();
}

core::Result<OutputFile> OutputFile::open(const std::string& path) {
  if (path == kStandardOutput) {
    if (std::exchange(standard_output_taken(), true)) {
      return core::fail(cannot_write(path, "standard output is another output already"));
    }
    return OutputFile(path, "/dev/stdout", "");
  }
  std::error_code absent;
  const auto canonical = std::filesystem::canonical(path, absent);
  const std::string target = absent ? path : canonical.string();

  struct stat facts{};
  const bool exists = stat(target.c_str(), &facts) == 0;
  if (exists && S_ISDIR(facts.st_mode)) {
    return core::fail(cannot_write(path, "it is a folder", "name a file in it"));
  }
  if (exists && access(target.c_str(), W_OK) != 0) {
    return core::fail(cannot_write(path, system_message()));
  }
  if (exists && !S_ISREG(facts.st_mode)) {
    return OutputFile(path, target, "");
  }
  const std::string temporary = fmt::format("{}.partial-{}", target, getpid());
  const int descriptor =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode);
  if (descriptor < 0) {
    return core::fail(cannot_write(path, system_message()));
  }
  close(descriptor);
  return OutputFile(path, target, temporary);
}

OutputFile::OutputFile(std::string path, std::string target, std::string temporary)
    : path_(std::move(path)),
      target_(std::move(target)),
      temporary_(std::move(temporary)),
      // What stands in a file already, to which the shell has led standard output, stays.
      stream_(temporary_.empty() ? target_ : temporary_,
              std::ios::binary | (path_ == kStandardOutput ? std::ios::app : std::ios::out)) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      stream_(std::move(other.stream_)) {}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) {
    stream_.close();
    unlink(temporary_.c_str());
  }
}

core::Result<void> OutputFile::commit() {
  errno = 0;
  stream_.close();
  const bool written =
      stream_.good() || (path_ == kStandardOutput && is_pipe_to_reader(STDOUT_FILENO));
  if (written && (temporary_.empty() || std::rename(temporary_.c_str(), target_.c_str()) == 0)) {
    temporary_.clear();
    return {};
  }
  return core::fail(
      cannot_write(path_, errno == 0 ? "not everything could be written" : system_message()));
}

}  // namespace ridgeline::cli
