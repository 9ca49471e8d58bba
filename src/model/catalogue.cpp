#include "model/catalogue.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/core.h>

#include "core/check.hpp"
#include "core/document.hpp"
#include "core/embedded_file.hpp"
#include "core/reader.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "model/hf_document.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {
namespace {

constexpr std::string_view kExtension = ".json";

struct Entry {
  std::string name;
  std::vector<std::string> names;  ///< All that mean it, in lower case.
  core::Node document;
};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return lower;
}

/// A Hugging Face id is also known without its organisation.
void add_name(std::vector<std::string>& names, std::string_view name) {
  names.push_back(lower_case(name));
  if (const std::size_t slash = name.rfind('/'); slash != std::string_view::npos) {
    names.push_back(lower_case(name.substr(slash + 1)));
  }
}

Entry read_entry(const core::EmbeddedFile& file) {
  Entry entry;
  entry.name = file.name.substr(0, file.name.size() - kExtension.size());
  const core::Result<core::Node> document =
      core::parse_json(file.text, fmt::format("data/models/{}", file.name));
  RIDGELINE_CHECK(document.has_value() && document->is_map(), file.name);
  add_name(entry.names, entry.name);
  if (const core::Node* id = document->find(kHfIdKey)) {
    add_name(entry.names, id->as_string());
  }
  if (const core::Node* aliases = document->find(kAliasesKey)) {
    for (const core::Node& alias : aliases->items()) {
      add_name(entry.names, alias.as_string());
    }
  }
  entry.document =
      with_member(*document, kNameKey, core::Node::string(entry.name, document->where()));
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
  const std::optional<std::string> near = core::nearest(lower_case(name), candidates);
  return {
      .code = core::ErrorCode::kUsage,
      .field = "model",
      .message = fmt::format("{} is neither a network of the catalogue nor a path that exists",
                             core::quote(name)),
      .where = {},
      .hint =
          near ? fmt::format("did you mean '{}'?", *near)
               : "give the path of its config.json, or a name that 'ridgeline list models' shows"};
}

}  // namespace

core::Result<core::Node> find_model_document(const std::string& name) {
  const std::string wanted = lower_case(name);
  for (const Entry& entry : catalogue()) {
    if (std::find(entry.names.begin(), entry.names.end(), wanted) != entry.names.end()) {
      return entry.document;
    }
  }
  std::error_code error;
  if (name.empty() || !std::filesystem::exists(name, error)) {
    return core::fail(unknown(name));
  }
  return read_hf_document(name);
}

core::Result<ModelSpec> find_model(const std::string& name) {
  const core::Result<core::Node> document = find_model_document(name);
  if (!document) {
    return core::fail(document.error());
  }
  return model_from_node(*document, name);
}

core::Result<ModelSpec> read_hf_config(const std::string& path) {
  const core::Result<core::Node> document = read_hf_document(path);
  if (!document) {
    return core::fail(document.error());
  }
  return model_from_node(*document, path);
}

std::vector<std::string> catalogue_names() {
  std::vector<std::string> names;
  for (const Entry& entry : catalogue()) {
    names.push_back(entry.name);
  }
  return names;
}

}  // namespace ridgeline::model
