#include "model/hardware/catalogue.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
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
#include "document/reader.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::hardware {
namespace {

constexpr std::string_view kMemory = "memory";
constexpr std::string_view kUsableMemory = "usable_memory";

/// "NVIDIA H100 80GB HBM3" and "nvidia_h100_80gb_hbm3" are one name.
std::string normalised(std::string_view text) {
  std::string plain = core::lower_case(text);
  std::replace(plain.begin(), plain.end(), ' ', '-');
  std::replace(plain.begin(), plain.end(), '_', '-');
  return plain;
}

void read_entry(const document::EmbeddedFile& file, document::Catalogue::Entry& entry) {
  core::Result<document::Node> document =
      document::parse_yaml(file.text, fmt::format("data/hardware/{}", file.name));
  RIDGELINE_CHECK(document.has_value() && document->is_map(), file.name);
  entry.names.push_back(entry.name);
  if (const document::Node* aliases = document->find("aliases")) {
    for (const document::Node& alias : aliases->items()) {
      entry.names.push_back(normalised(alias.as_string()));
    }
  }
  entry.document = *std::move(document);
}

const document::Catalogue& catalogue() {
  static const document::Catalogue kCatalogue(
      {.field = "gpu",
       .what = "a GPU",
       .extension = ".yaml",
       .hint = "give a name that 'ridgeline list gpus' shows, or the path of a YAML file",
       .plain = normalised,
       .read = read_entry},
      catalogue_files());
  return kCatalogue;
}

/// The quantity of a fact, which stands alone or as {value, source}.
std::optional<double> bytes_of(const document::Node& document, std::string_view key) {
  const document::Node* fact = document.find(key);
  if (fact != nullptr && fact->is_map()) {
    fact = fact->find("value");
  }
  if (fact == nullptr || !fact->is_string()) {
    return std::nullopt;
  }
  const auto bytes = document::parse_quantity(fact->as_string(), "bytes");
  return bytes ? std::optional(*bytes) : std::nullopt;
}

core::Error wrong_base(const document::Node& base, bool is_file) {
  const auto near = base.is_string() ? document::nearest(base.as_string(), catalogue().names())
                                     : std::optional<std::string>();
  return {
      .field = "hardware.base",
      .message = fmt::format(
          "{} is {}",
          base.describe(),
          is_file ? "a file, expected a GPU of the catalogue" : "not a GPU of the catalogue"),
      .where = base.where(),
      .hint = near ? fmt::format("did you mean '{}'?", *near) : "`ridgeline list gpus` shows them"};
}

/// A document with what it lacks taken from the GPU of the catalogue that its `base` names. Names
/// are its own.
core::Result<document::Node> with_base(const document::Node& document) {
  constexpr auto kOwn = std::to_array<std::string_view>({"base", "name", "full_name", "aliases"});
  const document::Node* base = document.find("base");
  if (base == nullptr) {
    return document;
  }
  bool is_file = false;
  const auto not_one = [&](const std::string& /*path*/) -> core::Result<document::Node> {
    is_file = true;
    return core::fail(core::Error{.message = "is a path"});
  };
  const core::Result<document::Node> found = base->is_string()
                                                 ? catalogue().find(base->as_string(), not_one)
                                                 : core::fail(core::Error{.message = "is no name"});
  if (!found) {
    return core::fail(wrong_base(*base, is_file));
  }
  std::vector<document::Node::Member> members;
  for (const document::Node::Member& member : document.members()) {
    members.push_back(member);
    if (member.key == "base") {
      members.back().value = *found->find("name");
    }
  }
  for (const document::Node::Member& member : found->members()) {
    if (std::ranges::find(kOwn, member.key) == kOwn.end() && document.find(member.key) == nullptr) {
      members.push_back(member);
    }
  }
  document::Node whole = document::Node::map(std::move(members), document.where());
  const bool other_memory =
      document.find(kMemory) != nullptr && document.find(kUsableMemory) == nullptr;
  return other_memory ? with_usable_share(whole, *found) : whole;
}

}  // namespace

document::Node with_usable_share(const document::Node& changed, const document::Node& original) {
  const auto memory = bytes_of(changed, kMemory);
  const auto whole = bytes_of(original, kMemory);
  const auto usable = bytes_of(original, kUsableMemory);
  if (!memory || !whole || !usable) {
    return changed;  // gpu_from_node() refuses what is wrong with it.
  }
  const core::Location& where = changed.find(kMemory)->where();
  const std::string share = fmt::format("{:.0f}B", *memory * (*usable / *whole));
  std::vector<document::Node::Member> members = changed.members();
  std::erase_if(members,
                [](const document::Node::Member& member) { return member.key == kUsableMemory; });
  members.push_back({.key = std::string(kUsableMemory),
                     .value = document::Node::string(share, where),
                     .where = where});
  return document::Node::map(std::move(members), changed.where());
}

core::Result<document::Node> find_gpu_document(const std::string& name) {
  return catalogue().find(name, [](const std::string& path) {
    return document::read_document(path).and_then(with_base);
  });
}

core::Result<GpuSpec> find_gpu(const std::string& name) {
  const core::Result<document::Node> document = find_gpu_document(name);
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
