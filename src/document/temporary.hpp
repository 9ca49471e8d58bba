#pragma once

#include <csignal>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace ridgeline::document {

struct TemporaryEntry;

/// Keeps this thread's signals waiting from before a file is made until it is a Temporary: a signal
/// that ended the process in between would leave it behind.
class SignalsWait {
 public:
  SignalsWait();
  ~SignalsWait();
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  SignalsWait(SignalsWait&&) = delete;
  SignalsWait& operator=(SignalsWait&&) = delete;

 private:
  sigset_t before_{};
};

/// A file or folder that this process made, under a name that nothing had before, and that goes
/// away with this object or when a signal ends the process. Nothing else is ever removed: a folder
/// goes only when it is empty.
class Temporary {
 public:
  /// A new file beside `target`, "TARGET.partial-PID", open for writing: the caller closes it.
  /// Errors have only a message.
  struct File;
  [[nodiscard]] static core::Result<File> file_beside(const std::string& target);
  /// A new folder in `folder`, which only this user may enter.
  [[nodiscard]] static core::Result<Temporary> folder_in(const std::string& folder);
  /// Takes on a file or an empty folder that the caller has just made, with signals waiting
  /// (SignalsWait).
  enum class Kind : bool { kFile, kFolder };
  Temporary(std::string path, Kind kind, std::string target = {});

  Temporary(Temporary&& other) noexcept;
  Temporary& operator=(Temporary&& other) noexcept;
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary();

  [[nodiscard]] const std::string& path() const;
  /// It has become what it was to become: it stays.
  void keep();

 private:
  TemporaryEntry* entry_;
};

struct Temporary::File {
  Temporary temporary;
  int descriptor;
};

/// Whether a file that lives is to become `target`, by whatever name.
[[nodiscard]] bool is_awaited(const std::string& target);

/// Removes all that live. A signal handler may call it.
void remove_temporaries() noexcept;

/// Writes to a descriptor; false with errno where not all could be written.
[[nodiscard]] bool write_fully(int descriptor, std::string_view text);

}  // namespace ridgeline::document
