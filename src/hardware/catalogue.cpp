#include "hardware/catalogue.hpp"

#include <algorithm>
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

}  // namespace

core::Result<core::Node> find_gpu_document(const std::string& name) {
  return catalogue().find(name, [](const std::string& path) { return core::read_document(path); });
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

}  // namespace ridgeline::hardware
