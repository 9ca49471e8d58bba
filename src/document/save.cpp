#include "document/save.hpp"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "document/input_files.hpp"
#include "document/temporary.hpp"

namespace ridgeline::document {
namespace {

namespace fs = std::filesystem;

// Each narrowed by the umask.
constexpr mode_t kSavedFileMode = 0666;
constexpr mode_t kFolderMode = 0777;
constexpr mode_t kScriptMode = 0777;

core::Error no_write(std::string_view flag, const fs::path& path, std::string_view why) {
  return {.field = std::string(flag),
          .message = fmt::format("cannot write '{}': {}", core::shown_path(path.string()), why),
          .where = {.file = "command line"}};
}

/// "out/" is "out".
fs::path folder_of(const std::string& folder) {
  fs::path target(folder);
  return target.has_filename() ? target : target.parent_path();
}

/// One call of save_files().
class Saving {
 public:
  Saving(std::string_view flag, fs::path target, std::span<const NewFile> files)
      : flag_(flag), target_(std::move(target)), files_(files) {}
  Saving(const Saving&) = delete;
  Saving& operator=(const Saving&) = delete;
  Saving(Saving&&) = delete;
  Saving& operator=(Saving&&) = delete;
  /// What is in a folder goes before it.
  ~Saving() {
    while (!staged_.empty()) {
      staged_.pop_back();
    }
    while (!made_.empty()) {
      made_.pop_back();
    }
  }

  core::Result<void> run() {
    std::error_code error;
    const bool exists = fs::exists(target_, error);
    // Inside the folder where there is one: its neighbours may belong to others.
    const fs::path beside = exists ? target_ : target_.parent_path();
    return check_places()
        .and_then([&] { return make_folders(beside, made_); })
        .and_then([&] { return stage(beside.empty() ? "." : beside); })
        .and_then([&] { return exists ? put_each() : put_folder(); })
        .map([&] { keep_folders(); });
  }

 private:
  [[nodiscard]] tl::unexpected<core::Errors> refuse(const fs::path& path, std::string_view why) {
    return core::fail(no_write(flag_, path, why));
  }

  /// What stands in the way of a file.
  core::Result<void> check_places() {
    std::error_code error;
    for (const NewFile& file : files_) {
      fs::path place = target_;
      const fs::path name(file.name);
      if (file.name.find('\0') != std::string::npos) {
        return refuse(target_ / name, "its name holds a NUL");
      }
      for (auto part = name.begin(); part != name.end(); ++part) {
        if (part->is_absolute() || *part == "..") {
          return refuse(target_ / name, "it is not in the folder");
        }
        if (fs::exists(place, error) && !fs::is_directory(place, error)) {
          return refuse(place, "it is no folder");
        }
        place /= *part;
      }
      if (fs::is_directory(fs::symlink_status(place, error))) {
        return refuse(place, "it is a folder");
      }
      if (is_input(place.string())) {
        return refuse(place, "this command reads it");
      }
    }
    return {};
  }

  /// Makes a folder and those above it; each is removed again should anything fail.
  core::Result<void> make_folders(const fs::path& folder, std::vector<Temporary>& made) {
    std::error_code error;
    if (folder.empty() || fs::is_directory(folder, error)) {
      return {};
    }
    if (auto above = make_folders(folder.parent_path(), made); !above) {
      return above;
    }
    const SignalsWait wait;
    if (::mkdir(folder.c_str(), kFolderMode) == 0) {
      made.emplace_back(folder.string(), Temporary::Kind::kFolder);
    } else if (errno != EEXIST) {
      return refuse(folder, core::system_message(errno));
    }
    return {};
  }

  /// Writes all files to a folder of this call's own.
  core::Result<void> stage(const fs::path& folder) {
    auto own = Temporary::folder_in(folder.string());
    if (!own) {
      return refuse(target_, own.error().front().message);
    }
    staging_ = fs::path(own->path()) / "new";
    staged_.push_back(std::move(*own));
    for (const NewFile& file : files_) {
      auto done = make_folders((staging_ / file.name).parent_path(), staged_).and_then([&] {
        return stage_file(file);
      });
      if (!done) {
        return done;
      }
    }
    return {};
  }

  core::Result<void> stage_file(const NewFile& file) {
    const fs::path path = staging_ / file.name;
    int descriptor = -1;
    {
      const SignalsWait wait;
      descriptor = ::open(path.c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                          file.is_script ? kScriptMode : kSavedFileMode);
      if (descriptor < 0) {
        return refuse(target_ / file.name, core::system_message(errno));
      }
      staged_.emplace_back(path.string(), Temporary::Kind::kFile);
    }
    const bool written = write_fully(descriptor, file.text);
    const int problem = errno;
    if (::close(descriptor) != 0 || !written) {
      return refuse(target_ / file.name, core::system_message(written ? errno : problem));
    }
    return {};
  }

  /// All at once, as a folder that was not made meanwhile.
  core::Result<void> put_folder() {
    if (std::rename(staging_.c_str(), target_.c_str()) == 0) {
      return {};
    }
    const bool is_made = errno == EEXIST || errno == ENOTEMPTY;
    return is_made ? put_each() : refuse(target_, core::system_message(errno));
  }

  core::Result<void> put_each() {
    const FolderLock lock(target_.string());
    if (!lock.take()) {
      return refuse(target_, "another process is writing into it");
    }
    if (auto done = check_places(); !done) {
      return done;
    }
    std::vector<bool> replaced;
    for (const NewFile& file : files_) {
      bool is_there = false;
      auto done = make_folders((target_ / file.name).parent_path(), made_).and_then([&] {
        return put(file, is_there);
      });
      if (!done) {
        take_back(replaced);
        return done;
      }
      replaced.push_back(is_there);
    }
    return {};
  }

  /// Gives a file its name; what had it takes the file's place in the folder of this call.
  core::Result<void> put(const NewFile& file, bool& is_there) {
    const fs::path from = staging_ / file.name;
    const fs::path to = target_ / file.name;
    std::error_code error;
    if (exchange(from, to)) {
      is_there = true;
      if (!fs::is_directory(fs::symlink_status(from, error))) {
        return {};
      }
      exchange(from, to);
      return refuse(to, "it is a folder");
    }
    // Nothing is there, or the file system exchanges nothing.
    is_there = fs::exists(fs::symlink_status(to, error));
    const std::string aside = from.string() + ".old";
    const bool is_kept = is_there && ::link(to.c_str(), aside.c_str()) == 0;
    if (std::rename(from.c_str(), to.c_str()) != 0) {
      const int problem = errno;
      if (is_kept) {
        ::unlink(aside.c_str());
      }
      return refuse(to, core::system_message(problem));
    }
    if (is_kept) {
      static_cast<void>(std::rename(aside.c_str(), from.c_str()));
    }
    return {};
  }

  static bool exchange(const fs::path& one, const fs::path& other) {
    return ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0;
  }

  /// Undoes what put() did to the first files.
  void take_back(const std::vector<bool>& replaced) {
    for (std::size_t i = 0; i < replaced.size(); ++i) {
      const fs::path from = staging_ / files_[i].name;
      const fs::path to = target_ / files_[i].name;
      static_cast<void>(replaced[i] ? std::rename(from.c_str(), to.c_str()) : ::unlink(to.c_str()));
    }
  }

  void keep_folders() {
    for (Temporary& folder : made_) {
      folder.keep();
    }
  }

  std::string_view flag_;
  fs::path target_;
  std::span<const NewFile> files_;
  fs::path staging_;
  std::vector<Temporary> made_;    ///< Folders that stay.
  std::vector<Temporary> staged_;  ///< What goes: first the folder of this call.
};

}  // namespace

FolderLock::FolderLock(const std::string& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

bool FolderLock::take() const {
  constexpr int kTries = 1000;
  constexpr auto kPause = std::chrono::milliseconds(10);
  for (int i = 0; i < kTries; ++i) {
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
      return true;
    }
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

core::Result<void> can_save(std::string_view flag, const std::string& folder) {
  const fs::path target = folder_of(folder);
  std::error_code error;
  fs::path place = target;  // What exists of it.
  while (!place.empty() && !fs::exists(place, error) && place.has_relative_path()) {
    place = place.parent_path();
  }
  if (place.empty()) {
    place = ".";
  }
  if (!fs::is_directory(place, error)) {
    return core::fail(no_write(
        flag,
        target,
        place == target ? std::string("it is no folder")
                        : fmt::format("'{}' is no folder", core::shown_path(place.string()))));
  }
  if (::access(place.c_str(), W_OK | X_OK) != 0) {
    return core::fail(no_write(flag, target, core::system_message(errno)));
  }
  return {};
}

core::Result<void> save_files(std::string_view flag,
                              const std::string& folder,
                              std::span<const NewFile> files) {
  const auto can = can_save(flag, folder);
  return can && !files.empty() ? Saving(flag, folder_of(folder), files).run() : can;
}

core::Result<void> save_file(std::string_view flag,
                             const std::string& path,
                             std::string_view text) {
  auto file = Temporary::file_beside(path);
  if (!file) {
    return core::fail(no_write(flag, path, file.error().front().message));
  }
  const bool written = write_fully(file->descriptor, text) &&
                       (::fdatasync(file->descriptor) == 0 || errno == EINVAL);
  const int problem = errno;
  if (::close(file->descriptor) != 0 || !written) {
    return core::fail(no_write(flag, path, core::system_message(written ? errno : problem)));
  }
  if (std::rename(file->temporary.path().c_str(), path.c_str()) != 0) {
    return core::fail(no_write(flag, path, core::system_message(errno)));
  }
  file->temporary.keep();
  return {};
}

}  // namespace ridgeline::document
