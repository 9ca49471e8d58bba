#include "deploy/images.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/check.hpp"
#include "deploy/catalogue.hpp"
#include "document/document.hpp"
#include "document/embedded_file.hpp"
#include "scenario/foreign_flags.hpp"

namespace ridgeline::deploy {
namespace {

constexpr std::string_view kImagesFile = "images.yaml";
constexpr std::string_view kSglang = "sglang";
constexpr std::string_view kSglangRepository = "lmsysorg/sglang";

const document::Node& image_table() {
  static const document::Node kImageTable = [] {
    const auto files = data_files();
    const auto file = std::ranges::find(files, kImagesFile, &document::EmbeddedFile::name);
    RIDGELINE_CHECK(file != files.end(), kImagesFile);
    auto read = document::parse_yaml(file->text, std::string(kImagesFile));
    RIDGELINE_CHECK(read.has_value(), kImagesFile);
    return *read;
  }();
  return kImageTable;
}

const std::string& repository() {
  return image_table().find("repository")->as_string();
}

}  // namespace

std::string image_of(std::string_view engine, std::string_view version) {
  if (engine == kSglang) {
    return fmt::format("{}:v{}", kSglangRepository, version);
  }
  const auto numbers = scenario::parse_version(version);
  RIDGELINE_CHECK(numbers.has_value(), version);
  const std::string release = fmt::format("{}.{}", numbers->first, numbers->second);
  if (version != release) {
    return fmt::format("{}:v{}", repository(), version);
  }
  const document::Node* tag = image_table().find("tags")->find(release);
  return tag == nullptr ? fmt::format("{}:v{}.0", repository(), release)
                        : fmt::format("{}:{}", repository(), tag->as_string());
}

std::optional<std::string> version_of_image(std::string_view image) {
  constexpr std::string_view kHub = "docker.io/";
  image.remove_prefix(image.starts_with(kHub) ? kHub.size() : 0);
  const auto colon = image.rfind(":v");
  const std::string_view name = image.substr(0, colon);
  if (colon == std::string_view::npos || (name != repository() && name != kSglangRepository)) {
    return std::nullopt;
  }
  const std::string_view tag = image.substr(colon + 2);
  return std::string(tag.substr(0, tag.find('-')));
}

std::optional<std::string> node_label(std::string_view gpu) {
  const document::Node* label = image_table().find("node_labels")->find(gpu);
  return label == nullptr ? std::nullopt : std::optional(label->as_string());
}

}  // namespace ridgeline::deploy
