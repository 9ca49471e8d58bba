#include "model/catalogue.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "document/catalogue.hpp"
#include "document/document.hpp"
#include "document/embedded_file.hpp"
#include "model/hf_document.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {
namespace {

/// A Hugging Face id is also known without its organisation.
void add_name(std::vector<std::string>& names, std::string_view name) {
  names.push_back(core::lower_case(name));
  if (const std::size_t slash = name.rfind('/'); slash != std::string_view::npos) {
    names.push_back(core::lower_case(name.substr(slash + 1)));
  }
}

document::Node parse(const document::EmbeddedFile& file) {
  core::Result<document::Node> document =
      document::parse_json(file.text, fmt::format("data/models/{}", file.name));
  RIDGELINE_CHECK(document.has_value() && document->is_map(), file.name);
  return std::move(*document);
}

/// A network in other formats (`_base`) has the members of the other one that its file lacks.
document::Node with_base(document::Node document) {
  const document::Node* base = document.find(kBaseKey);
  if (base == nullptr) {
    return document;
  }
  const std::string file = base->as_string() + ".json";
  const auto found = std::ranges::find(catalogue_files(), file, &document::EmbeddedFile::name);
  RIDGELINE_CHECK(found != catalogue_files().end(), file);
  const document::Node other = parse(*found);
  for (const document::Node::Member& member : other.members()) {
    if (document.find(member.key) == nullptr) {
      document = with_member(document, member.key, member.value);
    }
  }
  return document;
}

void read_entry(const document::EmbeddedFile& file, document::Catalogue::Entry& entry) {
  const document::Node parsed = with_base(parse(file));
  const document::Node* document = &parsed;
  add_name(entry.names, entry.name);
  if (const document::Node* id = document->find(kHfIdKey)) {
    add_name(entry.names, id->as_string());
  }
  if (const document::Node* aliases = document->find(kAliasesKey)) {
    for (const document::Node& alias : aliases->items()) {
      add_name(entry.names, alias.as_string());
    }
  }
  entry.document =
      with_member(*document, kNameKey, document::Node::string(entry.name, document->where()));
}

const document::Catalogue& catalogue() {
  static const document::Catalogue kCatalogue(
      {.field = "model",
       .what = "a network",
       .extension = ".json",
       .hint = "give the path of its config.json, or a name that 'ridgeline list models' shows",
       .plain = core::lower_case,
       .read = read_entry},
      catalogue_files());
  return kCatalogue;
}

}  // namespace

core::Result<document::Node> find_model_document(const std::string& name) {
  // A folder's name may end in a slash.
  return catalogue().find(name.substr(0, name.find_last_not_of('/') + 1), read_hf_document);
}

core::Result<ModelSpec> find_model(const std::string& name) {
  const core::Result<document::Node> document = find_model_document(name);
  if (!document) {
    return core::fail(document.error());
  }
  return model_from_node(*document, name);
}

core::Result<ModelSpec> read_hf_config(const std::string& path) {
  const core::Result<document::Node> document = read_hf_document(path);
  if (!document) {
    return core::fail(document.error());
  }
  return model_from_node(*document, path);
}

std::vector<std::string> catalogue_names() {
  return catalogue().names();
}

std::vector<std::string> catalogue_names_with(std::string_view text) {
  std::vector<std::string> names;
  for (const document::EmbeddedFile& file : catalogue_files()) {
    if (file.text.find(text) != std::string_view::npos) {
      names.emplace_back(file.name.substr(0, file.name.rfind('.')));
    }
  }
  // What is laid over one of them has its text, too.
  const std::vector<std::string> bases = names;
  for (const document::EmbeddedFile& file : catalogue_files()) {
    const bool is_over = std::ranges::any_of(bases, [&](const std::string& base) {
      return file.text.find(fmt::format(R"("{}": "{}")", kBaseKey, base)) != std::string_view::npos;
    });
    if (is_over) {
      names.emplace_back(file.name.substr(0, file.name.rfind('.')));
    }
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace ridgeline::model
