#include "cli/commands/watch_runs.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/inotify.h>
#include <sys/types.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"
#include "core/text.hpp"
#include "document/document.hpp"
#include "report/run_changes.hpp"

namespace ridgeline::cli {
namespace {

/// Tells when a file is saved: written and closed, or another one put in its place, as editors do.
class FileWatch {
 public:
  explicit FileWatch(const std::filesystem::path& file)
      : name_(file.filename()), descriptor_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
    is_open_ = descriptor_ >= 0 &&
               inotify_add_watch(descriptor_, folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO) >= 0;
    error_ = is_open_ ? 0 : errno;
  }
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;
  ~FileWatch() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }

  [[nodiscard]] bool is_open() const { return is_open_; }
  [[nodiscard]] int error() const { return error_; }

  /// Waits for the next time; false where Ctrl-C comes first.
  [[nodiscard]] bool wait() {
    constexpr int kLookAgainMs = 200;  // For a signal that came just before the wait.
    const InterruptGuard guard;
    while (!InterruptGuard::flag()) {
      struct pollfd look = {.fd = descriptor_, .events = POLLIN, .revents = 0};
      if (poll(&look, 1, kLookAgainMs) > 0 && take_events()) {
        return true;
      }
    }
    return false;
  }

 private:
  /// Whether one of the events is of the file.
  [[nodiscard]] bool take_events() const {
    alignas(struct inotify_event) std::array<char, sizeof(struct inotify_event) + NAME_MAX + 1>
        buffer{};
    bool found = false;
    for (ssize_t size = 0; (size = read(descriptor_, buffer.data(), buffer.size())) > 0;) {
      for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
        struct inotify_event event{};
        std::memcpy(&event, buffer.data() + at, sizeof(event));
        found = found || (event.len > 0 && name_ == buffer.data() + at + sizeof(event));
        at += sizeof(event) + event.len;
      }
    }
    return found;
  }

  std::string name_;
  int descriptor_;
  bool is_open_ = false;
  int error_ = 0;
};

}  // namespace

ExitCode watch_runs(const std::string& file,
                    const Manners& manners,
                    const std::function<WatchedRun(bool first)>& run) {
  FileWatch watch(file);
  if (!watch.is_open()) {
    return give_up(
        {usage_error(
            "--watch",
            fmt::format("cannot watch '{}': {}", file, core::system_message(watch.error())))},
        manners);
  }
  std::optional<document::Node> before;
  do {
    WatchedRun now = run(!before);
    if (now.interrupted) {
      return now.code;
    }
    if (now.result) {
      std::string text;
      if (before) {
        text = report::run_changes(*before, *now.result, text_style(manners.out)) + "\n";
      }
      before = std::move(now.result);
      if (const auto written = write_all(STDOUT_FILENO, text); !written) {
        return give_up(written.error(), manners);
      }
    }
    static_cast<void>(write_all(STDERR_FILENO, fmt::format("watching {} (Ctrl-C ends)\n", file)));
  } while (watch.wait());
  return InterruptGuard::exit_code();
}

}  // namespace ridgeline::cli
