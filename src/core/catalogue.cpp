#include "core/catalogue.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/document.hpp"
#include "core/embedded_file.hpp"
#include "core/reader.hpp"
#include "core/result.hpp"
#include "core/text.hpp"

namespace ridgeline::core {

Catalogue::Catalogue(const Kind& kind, std::span<const EmbeddedFile> files) : kind_(kind) {
  for (const EmbeddedFile& file : files) {
    if (!file.name.ends_with(kind.extension)) {
      continue;
    }
    Entry entry;
    entry.name = file.name.substr(0, file.name.size() - kind.extension.size());
    kind.read(file, entry);
    entries_.push_back(std::move(entry));
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return a.name < b.name;
  });
}

Error Catalogue::unknown(const std::string& name) const {
  std::vector<std::string> candidates;
  for (const Entry& entry : entries_) {
    candidates.insert(candidates.end(), entry.names.begin(), entry.names.end());
  }
  const std::optional<std::string> near = nearest(kind_.plain(name), candidates);
  return {.code = ErrorCode::kUsage,
          .field = std::string(kind_.field),
          .message = fmt::format(
              "{} is neither {} of the catalogue nor a path that exists", quote(name), kind_.what),
          .where = {},
          .hint = near ? fmt::format("did you mean '{}'?", *near) : std::string(kind_.hint)};
}

Result<Node> Catalogue::find(
    const std::string& name,
    const std::function<Result<Node>(const std::string& path)>& read_path) const {
  const std::string wanted = kind_.plain(name);
  for (const Entry& entry : entries_) {
    if (std::find(entry.names.begin(), entry.names.end(), wanted) != entry.names.end()) {
      return entry.document;
    }
  }
  std::error_code error;
  if (name.empty() || !std::filesystem::exists(name, error)) {
    return fail(unknown(name));
  }
  return read_path(name);
}

std::vector<std::string> Catalogue::names() const {
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    names.push_back(entry.name);
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

}  // namespace ridgeline::core
