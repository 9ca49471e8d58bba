#include "deploy/read.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <ios>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "deploy/assembly.hpp"
#include "deploy/flag_names.hpp"
#include "deploy/flags.hpp"
#include "deploy/header.hpp"
#include "deploy/launch.hpp"
#include "deploy/manifest.hpp"
#include "deploy/script.hpp"
#include "deploy/targets.hpp"
#include "document/document.hpp"
#include "document/piped_files.hpp"
#include "document/yaml_documents.hpp"

namespace ridgeline::deploy {
namespace {

using document::Node;

/// The server of an engine's own file of flags; nothing where the document is none.
std::optional<ServerFound> server_of_config(const Node& document) {
  if (document.find("engine") != nullptr || document.find("gpu") != nullptr ||
      document.find("workload") != nullptr) {
    return std::nullopt;
  }
  for (const std::string_view engine : {"vllm", "sglang"}) {
    bool has_network = false;
    bool has_more = false;
    const bool are_flags = std::ranges::all_of(document.members(), [&](const Node::Member& member) {
      const bool is_network = member.key.starts_with("model");
      has_network = has_network || is_network;
      has_more = has_more || (!is_network && member.key != "seed");
      return is_launch_flag(engine, member.key);
    });
    if (are_flags && has_network && has_more) {
      return ServerFound{.role = "serve",
                         .engine = std::string(engine),
                         .network = {.text = {}, .where = document.where()},
                         .words = words_of_config(engine, document)};
    }
  }
  return std::nullopt;
}

bool is_script(std::string_view head, std::string_view path) {
  constexpr std::array<std::string_view, 5> kEndings = {
      ".sh", ".bash", ".sbatch", ".slurm", ".zsh"};
  return head.starts_with("#!") || std::ranges::any_of(kEndings, [&](std::string_view ending) {
           return path.ends_with(ending);
         });
}

/// The first two characters of a file: a trace may be large.
std::string head_of(const std::string& path) {
  std::string head(2, ' ');
  std::ifstream file(document::path_to_open(path), std::ios::binary);
  return file.read(head.data(), 2) ? head : std::string();
}

}  // namespace

core::Result<std::optional<Deployed>> scenario_in(const std::string& text,
                                                  const std::string& file,
                                                  const LaunchChoice& choice) {
  Found found;
  Script& script = found.script;
  if (choice.kind == "shell" || (choice.kind.empty() && is_script(text, file))) {
    core::Errors errors;
    script = read_script(text, {.file = file}, choice.given, errors);
    found.servers = servers_of_script(script, errors);
    if (found.servers.empty() && errors.empty()) {
      errors.push_back({.message = script.exit_line == 0
                                       ? "found no command that starts a server"
                                       : fmt::format("the script ends in line {}, before a server",
                                                     script.exit_line),
                        .where = {.file = file, .line = script.exit_line},
                        .hint = "vllm serve NETWORK ..., or a scenario as .yaml or .json"});
    }
    if (!errors.empty()) {
      return core::fail(std::move(errors));
    }
    found.title = "shell script";
  } else {
    const auto documents = document::parse_yaml_documents(text, file);
    if (!documents) {
      return text.find("{{") == std::string::npos
                 ? core::Result<std::optional<Deployed>>(
                       std::nullopt)  // The scenario's reader says what is wrong.
                 : core::fail({.message = "is a template, which nothing here fills in",
                               .where = documents.error().front().where,
                               .hint = "helm template ... > out.yaml, or give the values file"});
    }
    if (auto server = documents->empty() || !documents->front().is_map()
                          ? std::nullopt
                          : server_of_config(documents->front())) {
      found.title = fmt::format("flags of {}", server->engine);
      found.servers.push_back(std::move(*server));
    } else {
      core::Errors errors;
      auto manifest = read_manifest(*documents, choice.given, errors);
      if (!errors.empty()) {
        return core::fail(std::move(errors));
      }
      if (!manifest) {
        return std::nullopt;
      }
      found.servers = std::move(manifest->servers);
      script.files = std::move(manifest->files);
      script.warnings = std::move(manifest->warnings);
      found.title = std::move(manifest->title);
      found.router = std::move(manifest->router);
    }
  }
  auto assumed = assumed_in(text, file);
  if (!assumed) {
    return core::fail(std::move(assumed).error());
  }
  auto deployed = assemble(std::move(found), std::move(*assumed), choice);
  if (!deployed) {
    return core::fail(std::move(deployed).error());
  }
  return std::move(*deployed);
}

core::Result<std::optional<Deployed>> scenario_in_file(const std::string& path,
                                                       const LaunchChoice& choice) {
  const bool is_yaml = path.ends_with(".yaml") || path.ends_with(".yml");
  if (!is_yaml && choice.kind != "shell" && !is_script(head_of(path), path)) {
    return std::nullopt;
  }
  const auto text = document::read_file(path);
  return text ? scenario_in(*text, path, choice) : std::nullopt;
}

}  // namespace ridgeline::deploy
