#include "hardware/catalogue.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/check.hpp"
#include "core/document.hpp"
#include "core/embedded_file.hpp"
#include "core/reader.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "hardware/gpu_spec.hpp"

namespace ridgeline::hardware {
namespace {

constexpr std::string_view kExtension = ".yaml";

struct Entry {
  std::string name;
  std::vector<std::string> names;  ///< All that mean it, normalised.
  core::Node document;
};

/// "NVIDIA H100 80GB HBM3" and "nvidia_h100_80gb_hbm3" are one name.
std::string normalised(std::string_view text) {
  std::string plain(text);
  std::transform(plain.begin(), plain.end(), plain.begin(), [](unsigned char letter) {
    const bool separator = letter == ' ' || letter == '_';
    return separator ? '-' : static_cast<char>(std::tolower(letter));
  });
  return plain;
}

Entry read_entry(const core::EmbeddedFile& file) {
  core::Result<core::Node> document =
      core::parse_yaml(file.text, fmt::format("data/hardware/{}", file.name));
  RIDGELINE_CHECK(document.has_value() && document->is_map(), file.name);
  Entry entry;
  entry.name = file.name.substr(0, file.name.size() - kExtension.size());
  entry.names.push_back(entry.name);
  if (const core::Node* aliases = document->find("aliases")) {
    for (const core::Node& alias : aliases->items()) {
      entry.names.push_back(normalised(alias.as_string()));
    }
  }
  entry.document = *std::move(document);
  return entry;
}

const std::vector<Entry>& catalogue() {
  static const std::vector<Entry> kEntries = [] {
    std::vector<Entry> entries;
    for (const core::EmbeddedFile& file : catalogue_files()) {
      if (file.name.ends_with(kExtension)) {
        entries.push_back(read_entry(file));
      }
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.name < b.name;
    });
    return entries;
  }();
  return kEntries;
}

core::Error unknown(const std::string& name) {
  std::vector<std::string> candidates;
  for (const Entry& entry : catalogue()) {
    candidates.insert(candidates.end(), entry.names.begin(), entry.names.end());
  }
  const std::optional<std::string> near = core::nearest(normalised(name), candidates);
  return {.code = core::ErrorCode::kUsage,
          .field = "gpu",
          .message = fmt::format("{} is neither a GPU of the catalogue nor a path that exists",
                                 core::quote(name)),
          .where = {},
          .hint = near
                      ? fmt::format("did you mean '{}'?", *near)
                      : "give a name that 'ridgeline list gpus' shows, or the path of a YAML file"};
}

}  // namespace

core::Result<core::Node> find_gpu_document(const std::string& name) {
  const std::string wanted = normalised(name);
  for (const Entry& entry : catalogue()) {
    if (std::find(entry.names.begin(), entry.names.end(), wanted) != entry.names.end()) {
      return entry.document;
    }
  }
  std::error_code error;
  if (name.empty() || !std::filesystem::exists(name, error)) {
    return core::fail(unknown(name));
  }
  return core::read_document(name);
}

core::Result<GpuSpec> find_gpu(const std::string& name) {
  const core::Result<core::Node> document = find_gpu_document(name);
  if (!document) {
    return core::fail(document.error());
  }
  return gpu_from_node(*document, name);
}

std::vector<std::string> catalogue_names() {
  std::vector<std::string> names;
  for (const Entry& entry : catalogue()) {
    names.push_back(entry.name);
  }
  return names;
}

}  // namespace ridgeline::hardware
