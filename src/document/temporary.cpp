#include "document/temporary.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "document/input_files.hpp"

namespace ridgeline::document {

/// Entries are used again and never freed, so that a signal handler may walk the list at any time.
struct TemporaryEntry {
  std::string path;
  std::string target;  ///< The file that it will become; empty where that is not one.
  bool is_folder = false;
  std::atomic<bool> live = false;  ///< The members above hold.
  TemporaryEntry* next = nullptr;
};

namespace {

constexpr mode_t kFileMode = 0666;  // narrowed by the umask
/// Names that are tried (ours: what killed processes of one number left, in a container say).
constexpr int kMostNames = 1000;

std::atomic<TemporaryEntry*>& first_entry() {
  static std::atomic<TemporaryEntry*> first{nullptr};
  return first;
}

std::mutex& entries_mutex() {
  static std::mutex mutex;
  return mutex;
}

template <class Use>
void each_live(Use use) {
  for (const TemporaryEntry* entry = first_entry().load(); entry != nullptr; entry = entry->next) {
    if (entry->live) {
      use(*entry);
    }
  }
}

tl::unexpected<core::Errors> system_problem(int code) {
  return core::fail(core::Error{.message = core::system_message(code)});
}

}  // namespace

SignalsWait::SignalsWait() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before_);
}

SignalsWait::~SignalsWait() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

Temporary::Temporary(std::string path, Kind kind, std::string target) {
  const std::scoped_lock lock(entries_mutex());
  entry_ = first_entry().load();
  while (entry_ != nullptr && entry_->live) {
    entry_ = entry_->next;
  }
  if (entry_ == nullptr) {
    auto added = std::make_unique<TemporaryEntry>();
    added->next = first_entry().load();
    entry_ = added.release();
    first_entry().store(entry_);
  }
  entry_->path = std::move(path);
  entry_->target = std::move(target);
  entry_->is_folder = kind == Kind::kFolder;
  entry_->live = true;
}

Temporary::Temporary(Temporary&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}

Temporary& Temporary::operator=(Temporary&& other) noexcept {
  std::swap(entry_, other.entry_);
  return *this;
}

Temporary::~Temporary() {
  if (entry_ != nullptr) {
    static_cast<void>(entry_->is_folder ? ::rmdir(entry_->path.c_str())
                                        : ::unlink(entry_->path.c_str()));
    keep();
  }
}

const std::string& Temporary::path() const {
  return entry_->path;
}

void Temporary::keep() {
  if (entry_ != nullptr) {
    const std::scoped_lock lock(entries_mutex());
    std::exchange(entry_, nullptr)->live = false;
  }
}

core::Result<Temporary::File> Temporary::file_beside(const std::string& target) {
  const SignalsWait wait;
  for (int i = 0; i < kMostNames; ++i) {
    std::string path =
        fmt::format("{}.partial-{}{}", target, ::getpid(), i == 0 ? "" : fmt::format("-{}", i));
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode);
    if (descriptor >= 0) {
      return File{.temporary = Temporary(std::move(path), Kind::kFile, target),
                  .descriptor = descriptor};
    }
    if (errno != EEXIST) {
      break;
    }
  }
  return system_problem(errno);
}

core::Result<Temporary> Temporary::folder_in(const std::string& folder) {
  const SignalsWait wait;
  std::string path = folder + "/.ridgeline-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return system_problem(errno);
  }
  return Temporary(std::move(path), Kind::kFolder);
}

bool is_awaited(const std::string& target) {
  const std::scoped_lock lock(entries_mutex());
  bool is_one = false;
  each_live([&](const TemporaryEntry& entry) {
    is_one = is_one || (!entry.target.empty() &&
                        (entry.target == target || is_same_file(entry.target, target)));
  });
  return is_one;
}

void remove_temporaries() noexcept {
  constexpr int kDeepest = 8;  // Folders within each other, the inner ones first.
  each_live([](const TemporaryEntry& entry) { ::unlink(entry.path.c_str()); });
  for (int i = 0; i < kDeepest; ++i) {
    each_live([](const TemporaryEntry& entry) { ::rmdir(entry.path.c_str()); });
  }
}

bool write_fully(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(descriptor, text.data(), text.size());
    if (done < 0 && errno == EINTR) {
      continue;
    }
    if (done < 0) {
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

}  // namespace ridgeline::document
