#include "document/catalogue.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "document/document.hpp"
#include "document/embedded_file.hpp"
#include "document/reader.hpp"

namespace ridgeline::document {

Catalogue::Catalogue(const Kind& kind, std::span<const EmbeddedFile> files) : kind_(kind) {
  std::vector<const EmbeddedFile*> found;
  for (const EmbeddedFile& file : files) {
    if (file.name.ends_with(kind.extension)) {
      found.push_back(&file);
    }
  }
  std::ranges::sort(found, {}, [this](const EmbeddedFile* file) { return stem(*file); });
  for (const EmbeddedFile* file : found) {
    files_.emplace_back().file = file;
  }
}

std::string_view Catalogue::stem(const EmbeddedFile& file) const {
  return file.name.substr(0, file.name.size() - kind_.extension.size());
}

const Catalogue::Entry& Catalogue::read(File& file) const {
  std::call_once(file.once, [&] {
    file.entry.name = stem(*file.file);
    kind_.read(*file.file, file.entry);
  });
  return file.entry;
}

core::Error Catalogue::unknown(const std::string& name) const {
  std::vector<std::string> candidates;
  for (File& file : files_) {
    const Entry& entry = read(file);
    candidates.insert(candidates.end(), entry.names.begin(), entry.names.end());
  }
  const std::optional<std::string> near = nearest(kind_.plain(name), candidates);
  return {.code = core::ErrorCode::kUsage,
          .field = std::string(kind_.field),
          .message = fmt::format("{} is neither {} of the catalogue nor a path that exists",
                                 core::quote(name),
                                 kind_.what),
          .where = {},
          .hint = near ? fmt::format("did you mean '{}'? Otherwise {}", *near, kind_.hint)
                       : std::string(kind_.hint)};
}

core::Result<Node> Catalogue::find(
    const std::string& name,
    const std::function<core::Result<Node>(const std::string& path)>& read_path) const {
  const std::string wanted = kind_.plain(name);
  for (File& file : files_) {
    if (stem(*file.file) == wanted) {
      return read(file).document;
    }
  }
  for (File& file : files_) {
    const Entry& entry = read(file);
    if (std::find(entry.names.begin(), entry.names.end(), wanted) != entry.names.end()) {
      return entry.document;
    }
  }
  std::error_code error;
  if (name.empty() || !std::filesystem::exists(name, error)) {
    return core::fail(unknown(name));
  }
  return read_path(name);
}

std::vector<std::string> Catalogue::names() const {
  std::vector<std::string> names;
  names.reserve(files_.size());
  for (const File& file : files_) {
    names.emplace_back(stem(*file.file));
  }
  return names;
}

}  // namespace ridgeline::document
