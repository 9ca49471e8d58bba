#include "hardware/catalogue.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/catalogue.hpp"
#include "core/check.hpp"
#include "core/document.hpp"
#include "core/embedded_file.hpp"
#include "core/result.hpp"
#include "hardware/gpu_spec.hpp"

namespace ridgeline::hardware {
namespace {

/// "NVIDIA H100 80GB HBM3" and "nvidia_h100_80gb_hbm3" are one name.
std::string normalised(std::string_view text) {
  std::string plain = core::lower_case(text);
  std::replace(plain.begin(), plain.end(), ' ', '-');
  std::replace(plain.begin(), plain.end(), '_', '-');
  return plain;
}

void read_entry(const core::EmbeddedFile& file, core::Catalogue::Entry& entry) {
  core::Result<core::Node> document =
      core::parse_yaml(file.text, fmt::format("data/hardware/{}", file.name));
  RIDGELINE_CHECK(document.has_value() && document->is_map(), file.name);
  entry.names.push_back(entry.name);
  if (const core::Node* aliases = document->find("aliases")) {
    for (const core::Node& alias : aliases->items()) {
      entry.names.push_back(normalised(alias.as_string()));
    }
  }
  entry.document = *std::move(document);
}

const core::Catalogue& catalogue() {
  static const core::Catalogue kCatalogue(
      {.field = "gpu",
       .what = "a GPU",
       .extension = ".yaml",
       .hint = "give a name that 'ridgeline list gpus' shows, or the path of a YAML file",
       .plain = normalised,
       .read = read_entry},
      catalogue_files());
  return kCatalogue;
}

/// A document with what it lacks taken from the GPU of the catalogue that its `base` names. Names
/// are its own.
core::Result<core::Node> with_base(const core::Node& document) {
  constexpr auto kOwn = std::to_array<std::string_view>({"base", "name", "full_name", "aliases"});
  const core::Node* base = document.find("base");
  if (base == nullptr) {
    return document;
  }
  const auto not_one = [&](const std::string& /*path*/) -> core::Result<core::Node> {
    return core::fail(core::Error{.message = "is a path"});
  };
  const auto found =
      base->is_string() ? catalogue().find(base->as_string(), not_one) : not_one(std::string());
  if (!found) {
    return core::fail(
        core::Error{.field = "hardware.base",
                    .message = fmt::format("{} is not a GPU of the catalogue", base->describe()),
                    .where = base->where(),
                    .hint = found.error().front().hint.empty() ? "`ridgeline list gpus` shows them"
                                                               : found.error().front().hint});
  }
  std::vector<core::Node::Member> members;
  for (const core::Node::Member& member : document.members()) {
    members.push_back(member);
    if (member.key == "base") {
      members.back().value = *found->find("name");
    }
  }
  for (const core::Node::Member& member : found->members()) {
    if (std::ranges::find(kOwn, member.key) == kOwn.end() && document.find(member.key) == nullptr) {
      members.push_back(member);
    }
  }
  return core::Node::map(std::move(members), document.where());
}

}  // namespace

core::Result<core::Node> find_gpu_document(const std::string& name) {
  return catalogue().find(
      name, [](const std::string& path) { return core::read_document(path).and_then(with_base); });
}

core::Result<GpuSpec> find_gpu(const std::string& name) {
  const core::Result<core::Node> document = find_gpu_document(name);
  if (!document) {
    return core::fail(document.error());
  }
  return gpu_from_node(*document, name);
}

std::vector<std::string> catalogue_names() {
  return catalogue().names();
}

const std::vector<std::string>& architectures() {
  static const std::vector<std::string> kAll = [] {
    std::set<std::string> all;
    for (const std::string& name : catalogue_names()) {
      const auto gpu = find_gpu(name);
      RIDGELINE_CHECK(gpu.has_value(), name);
      all.insert(gpu->architecture);
    }
    return std::vector<std::string>(all.begin(), all.end());
  }();
  return kAll;
}

}  // namespace ridgeline::hardware
