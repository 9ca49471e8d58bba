#include "sweep/shard_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "core/digest.hpp"
#include "core/result.hpp"
#include "document/temporary.hpp"

namespace ridgeline::sweep {
namespace {

/// Lines reach the disk in groups of a second (planner.md, section 9: at most 1 s is lost).
constexpr double kGroupS = 1.0;
constexpr int kMode = 0644;
/// Names that are tried (ours: processes of one number on machines that share the folder).
constexpr int kMostNames = 1000;

core::Error broken(const std::string& path, std::string_view what) {
  return {.field = "--store",
          .message = fmt::format("'{}' {}: {}", path, what, std::strerror(errno)),
          .where = {.file = "command line"}};
}

}  // namespace

std::string checksum_of(std::string_view row) {
  core::Digest digest;
  digest.add(std::as_bytes(std::span(row)));
  return digest.hex();
}

core::Result<std::unique_ptr<ShardFile>> ShardFile::create(const std::string& folder,
                                                           const std::string& stem,
                                                           std::string_view header,
                                                           Clock clock) {
  for (int i = 0; i < kMostNames; ++i) {
    const std::string number = i == 0 ? "" : fmt::format("-{}", i);
    std::string path = fmt::format("{}/{}.{}{}.ndjson", folder, stem, ::getpid(), number);
    const int descriptor =
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, kMode);
    if (descriptor < 0 && errno == EEXIST) {
      continue;
    }
    if (descriptor < 0) {
      return core::fail(broken(path, "cannot be made"));
    }
    std::unique_ptr<ShardFile> file(new ShardFile(std::move(path), descriptor, std::move(clock)));
    if (auto written = file->append(header); !written) {
      return core::fail(std::move(written).error());
    }
    return file;
  }
  return core::fail(broken(fmt::format("{}/{}", folder, stem), "has no name left"));
}

ShardFile::ShardFile(std::string path, int descriptor, Clock clock)
    : path_(std::move(path)),
      descriptor_(descriptor),
      clock_(std::move(clock)),
      synced_s_(clock_()) {}

ShardFile::~ShardFile() {
  static_cast<void>(::close(descriptor_));
}

core::Result<void> ShardFile::append(std::string_view lines) {
  bool is_due = false;
  {
    const std::lock_guard lock(mutex_);
    if (!document::write_fully(descriptor_, lines)) {
      auto problem = failure("cannot be written");
      // A part of a row must not stand before those of other threads.
      static_cast<void>(::ftruncate(descriptor_, size_));
      return core::fail(std::move(problem));
    }
    size_ += static_cast<std::int64_t>(lines.size());
    is_due = clock_() - synced_s_ >= kGroupS && !is_syncing_.exchange(true);
  }
  if (!is_due) {
    return {};
  }
  // Other threads go on writing meanwhile.
  auto done = sync();
  is_syncing_ = false;
  return done;
}

core::Result<void> ShardFile::sync() {
  if (::fdatasync(descriptor_) != 0 && errno != EINVAL) {
    return core::fail(failure("cannot be brought to the disk"));
  }
  const std::lock_guard lock(mutex_);
  synced_s_ = clock_();
  return {};
}

core::Error ShardFile::failure(std::string_view what) const {
  return broken(path_, what);
}

}  // namespace ridgeline::sweep
