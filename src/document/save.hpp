#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace ridgeline::document {

/// A file that is to be written into a folder.
struct NewFile {
  std::string name;  ///< Within the folder, or within a folder in it: "top1/serve.sh".
  std::string text;
  bool is_script = false;
};

/// Writes the files into a folder, which is made where it does not exist: all of them or none. They
/// are written to a folder of this call's own first, and get their names when all are whole; of
/// several processes that write to one folder, the files are those of the last. Files of those
/// names are replaced, but for those that this process has read; a folder of such a name is
/// refused. `flag` names the folder in errors.
[[nodiscard]] core::Result<void> save_files(std::string_view flag,
                                            const std::string& folder,
                                            std::span<const NewFile> files);

/// A folder for a short time: processes that change what is in it take turns.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  FolderLock(FolderLock&&) = delete;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

  /// False where another has it for 10 s, longer than a turn takes. A file system without locks has
  /// no turns.
  [[nodiscard]] bool take() const;

 private:
  int descriptor_;
};

/// Writes one file, whole or not at all; it is on the disk when this returns.
[[nodiscard]] core::Result<void> save_file(std::string_view flag,
                                           const std::string& path,
                                           std::string_view text);

/// Whether files can be written into a folder, or into one that would be made: asked before a long
/// computation, which makes nothing.
[[nodiscard]] core::Result<void> can_save(std::string_view flag, const std::string& folder);

}  // namespace ridgeline::document
