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
  for (const EmbeddedFile& file : files) {
    if (file.name.ends_with(kind.extension)) {
      files_.push_back(&file);
    }
  }
  std::sort(files_.begin(), files_.end(), [this](const EmbeddedFile* a, const EmbeddedFile* b) {
    return stem(*a) < stem(*b);
  });
}

std::string_view Catalogue::stem(const EmbeddedFile& file) const {
  return file.name.substr(0, file.name.size() - kind_.extension.size());
}

Catalogue::Entry Catalogue::read(const EmbeddedFile& file) const {
  Entry entry;
  entry.name = stem(file);
  kind_.read(file, entry);
  return entry;
}

const std::vector<Catalogue::Entry>& Catalogue::entries() const {
  std::call_once(once_, [this] {
    for (const EmbeddedFile* file : files_) {
      entries_.push_back(read(*file));
    }
  });
  return entries_;
}

core::Error Catalogue::unknown(const std::string& name) const {
  std::vector<std::string> candidates;
  for (const Entry& entry : entries()) {
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
  for (const EmbeddedFile* file : files_) {
    if (stem(*file) == wanted) {
      return read(*file).document;
    }
  }
  for (const Entry& entry : entries()) {
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
  for (const EmbeddedFile* file : files_) {
    names.emplace_back(stem(*file));
  }
  return names;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return lower;
}

}  // namespace ridgeline::document
