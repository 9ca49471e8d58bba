#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/embedded_file.hpp"

namespace ridgeline::document {

/// Documents that are compiled in and go by names: the networks, the GPUs. A file is read when its
/// own name is asked for; all of them, once, when another name is.
class Catalogue {
 public:
  struct Entry {
    std::string name;                ///< Name of the file, without its extension.
    std::vector<std::string> names;  ///< All that mean it, as `plain` spells them.
    Node document;
  };
  /// What distinguishes one catalogue from another.
  struct Kind {
    std::string_view field;      ///< "gpu", for errors.
    std::string_view what;       ///< "a GPU"
    std::string_view extension;  ///< ".yaml": of the files that are entries.
    std::string_view hint;       ///< What to try where no name is near.
    /// One spelling for all that are the same name.
    std::string (*plain)(std::string_view name);
    /// Reads a file into names and document; a file that cannot be read is our mistake.
    void (*read)(const EmbeddedFile& file, Entry& entry);
  };
  Catalogue(const Kind& kind, std::span<const EmbeddedFile> files);

  /// The document that a name means, or what `read_path` makes of it where it is a path that
  /// exists. Unknown names give the nearest.
  [[nodiscard]] core::Result<Node> find(
      const std::string& name,
      const std::function<core::Result<Node>(const std::string& path)>& read_path) const;
  /// Sorted.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  [[nodiscard]] core::Error unknown(const std::string& name) const;
  /// A file, read when it is first asked for: a search looks up the same few over and over.
  struct File {
    const EmbeddedFile* file = nullptr;
    std::once_flag once = {};  ///< Searches look up on several threads.
    Entry entry = {};
  };
  [[nodiscard]] std::string_view stem(const EmbeddedFile& file) const;
  const Entry& read(File& file) const;

  Kind kind_;
  mutable std::deque<File> files_;  ///< Sorted by name.
};

}  // namespace ridgeline::document
