#include "cli/output_file.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <ios>
#include <memory>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/types.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "core/input_files.hpp"
#include "core/result.hpp"

namespace ridgeline::cli {

/// An entry of the list of outputs. Entries are used again and never freed, so that a signal
/// handler may walk the list at any time.
struct OpenOutput {
  std::string temporary;           ///< The file that is written.
  std::string target;              ///< The file that it will become.
  std::atomic<bool> live = false;  ///< The members above hold.
  OpenOutput* next = nullptr;
};

namespace {

constexpr std::string_view kStandardOutput = "-";
constexpr mode_t kFileMode = 0666;  // narrowed by the umask

std::atomic<OpenOutput*>& first_output() {
  static std::atomic<OpenOutput*> first{nullptr};
  return first;
}

/// Outputs are opened by one thread.
OpenOutput* add_output(std::string temporary, std::string target) {
  OpenOutput* entry = first_output().load();
  while (entry != nullptr && entry->live) {
    entry = entry->next;
  }
  if (entry == nullptr) {
    auto added = std::make_unique<OpenOutput>();
    added->next = first_output().load();
    entry = added.release();
    first_output().store(entry);
  }
  entry->temporary = std::move(temporary);
  entry->target = std::move(target);
  entry->live = true;
  return entry;
}

bool is_other_output(const std::string& target) {
  for (const OpenOutput* entry = first_output().load(); entry != nullptr; entry = entry->next) {
    if (entry->live && (entry->target == target || core::is_same_file(entry->target, target))) {
      return true;
    }
  }
  return false;
}

core::Error problem(std::string_view flag, std::string message, std::string hint = {}) {
  return {.field = std::string(flag),
          .message = std::move(message),
          .where = {.file = "command line"},
          .hint = std::move(hint)};
}
core::Error cannot_write(std::string_view flag,
                         const std::string& path,
                         std::string_view why,
                         std::string hint = {}) {
  return problem(flag, fmt::format("cannot write '{}': {}", path, why), std::move(hint));
}
core::Error is_also_input(std::string_view flag, const std::string& path) {
  return problem(flag,
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

}  // namespace

bool OutputFile::has_standard_output() {
  return standard_output_taken();
}

core::Result<OutputFile> OutputFile::open(std::string_view flag, const std::string& path) {
  if (path.empty()) {
    return core::fail(problem(flag, "is empty, expected the name of a file"));
  }
  if (path == kStandardOutput) {
    if (std::exchange(standard_output_taken(), true)) {
      return core::fail(cannot_write(flag, path, "standard output is another output already"));
    }
    OutputFile file(std::string(flag), path, "/dev/stdout");
    // What stands in a file already, to which the shell has led standard output, stays.
    file.stream_.open(file.target_, std::ios::binary | std::ios::app);
    return file;
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
  OutputFile file(std::string(flag), path, target);
  if (exists && !S_ISREG(facts.st_mode)) {
    file.stream_.open(target, std::ios::binary);
    return file;
  }
  if (core::is_input(target)) {
    return core::fail(is_also_input(flag, path));
  }
  if (is_other_output(target)) {
    return core::fail(problem(flag, fmt::format("'{}' is also another output", path)));
  }
  const std::string temporary = fmt::format("{}.partial-{}", target, getpid());
  file.open_ = add_output(temporary, target);
  const int descriptor =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode);
  if (descriptor < 0) {
    std::exchange(file.open_, nullptr)->live = false;
    return core::fail(cannot_write(flag, path, system_message()));
  }
  close(descriptor);
  file.stream_.open(temporary, std::ios::binary);
  return file;
}

OutputFile::OutputFile(std::string flag, std::string path, std::string target)
    : flag_(std::move(flag)), path_(std::move(path)), target_(std::move(target)) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : flag_(std::move(other.flag_)),
      path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      open_(std::exchange(other.open_, nullptr)),
      stream_(std::move(other.stream_)) {}

OutputFile::~OutputFile() {
  drop();
}

void OutputFile::drop() {
  if (open_ != nullptr) {
    stream_.close();
    unlink(open_->temporary.c_str());
    std::exchange(open_, nullptr)->live = false;
  }
}

core::Result<void> OutputFile::commit() {
  errno = 0;
  stream_.close();
  const bool written =
      stream_.good() || (path_ == kStandardOutput && is_pipe_to_reader(STDOUT_FILENO));
  if (!written) {
    const std::string why = errno == 0 ? "not everything could be written" : system_message();
    drop();
    return core::fail(cannot_write(flag_, path_, why));
  }
  if (open_ == nullptr) {
    return {};
  }
  // An input may have been opened after this file was.
  if (core::is_input(target_)) {
    drop();
    return core::fail(is_also_input(flag_, path_));
  }
  if (std::rename(open_->temporary.c_str(), target_.c_str()) != 0) {
    const std::string why = system_message();
    drop();
    return core::fail(cannot_write(flag_, path_, why));
  }
  std::exchange(open_, nullptr)->live = false;
  return {};
}

void remove_unfinished_outputs() noexcept {
  for (const OpenOutput* entry = first_output().load(); entry != nullptr; entry = entry->next) {
    if (entry->live) {
      unlink(entry->temporary.c_str());
    }
  }
}

}  // namespace ridgeline::cli
