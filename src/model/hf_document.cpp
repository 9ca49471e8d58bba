#include "model/hf_document.hpp"

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::model {
namespace {

constexpr std::string_view kConfigFile = "config.json";
constexpr std::string_view kGenerationFile = "generation_config.json";
constexpr std::string_view kQuantisationFile = "hf_quant_config.json";
constexpr std::string_view kTextKey = "text_config";
constexpr std::string_view kTypeKey = "model_type";
constexpr std::string_view kQuantisationKey = "quantization_config";

/// "dir/x_config.json" gives "dir/x_<name>" when that is a file, nothing otherwise. A file of
/// another name, "dir/x.json", has "dir/<name>", unless a "dir/config.json" has.
std::string beside(const std::string& config_path, std::string_view name) {
  std::error_code error;
  std::filesystem::path path(config_path);
  std::string prefix = path.filename().string();
  if (prefix.ends_with(kConfigFile)) {
    prefix.resize(prefix.size() - kConfigFile.size());
  } else if (std::filesystem::exists(path.replace_filename(kConfigFile), error)) {
    return {};
  } else {
    prefix.clear();
  }
  path.replace_filename(prefix.append(name));
  return std::filesystem::is_regular_file(path, error) ? path.string() : std::string();
}

/// ModelOpt's file as a quantization_config: its `quantization` map, with the method it stands for.
document::Node as_quantization_config(const document::Node& file) {
  const document::Node* inner = file.find("quantization");
  const document::Node& content = inner != nullptr && inner->is_map() ? *inner : file;
  return with_member(content, "quant_method", document::Node::string("modelopt", file.where()));
}

}  // namespace

namespace {

/// `compression_config` under its later name.
document::Node with_quantisation_key(const document::Node& document) {
  const document::Node* older = document.find("compression_config");
  return older == nullptr || document.find(kQuantisationKey) != nullptr
             ? document
             : with_member(document, kQuantisationKey, *older);
}

}  // namespace

document::Node with_member(const document::Node& document,
                           std::string_view key,
                           document::Node value) {
  std::vector<document::Node::Member> members = document.members();
  const core::Location where = value.where();
  members.push_back({.key = std::string(key), .value = std::move(value), .where = where});
  return document::Node::map(std::move(members), document.where());
}

document::Node lift_text_config(const document::Node& written) {
  const document::Node document = with_quantisation_key(written);
  const document::Node* text = document.find(kTextKey);
  if (text == nullptr || !text->is_map()) {
    return document;
  }
  std::vector<document::Node::Member> members;
  std::set<std::string_view> inner;
  const bool outer_type = document.find(kTypeKey) != nullptr;
  for (const document::Node::Member& member : text->members()) {
    if (member.key != kTypeKey || !outer_type) {
      members.push_back(member);
      inner.insert(member.key);
    }
  }
  for (const document::Node::Member& member : document.members()) {
    if (member.key != kTextKey && !inner.contains(member.key)) {
      members.push_back(member);
    }
  }
  return document::Node::map(std::move(members), document.where());
}

core::Result<document::Node> read_hf_document(const std::string& path) {
  std::error_code error;
  const bool folder = std::filesystem::is_directory(path, error);
  const std::string file = folder ? (std::filesystem::path(path) / kConfigFile).string() : path;
  core::Result<document::Node> read =
      document::read_document(file, document::NonFinite::kReadAsNull);
  if (!read || !read->is_map()) {
    return read;
  }
  document::Node document = lift_text_config(*read);
  if (const std::string path_beside = beside(file, kGenerationFile);
      !path_beside.empty() && document.find(kGenerationKey) == nullptr) {
    core::Result<document::Node> generation =
        document::read_document(path_beside, document::NonFinite::kReadAsNull);
    if (!generation) {
      return generation;
    }
    document = with_member(document, kGenerationKey, *std::move(generation));
  }
  if (const std::string path_beside = beside(file, kQuantisationFile);
      !path_beside.empty() && document.find(kQuantisationKey) == nullptr) {
    const core::Result<document::Node> quantisation =
        document::read_document(path_beside, document::NonFinite::kReadAsNull);
    if (!quantisation) {
      return quantisation;
    }
    if (quantisation->is_map()) {
      document = with_member(document, kQuantisationKey, as_quantization_config(*quantisation));
    }
  }
  return document;
}

}  // namespace ridgeline::model
