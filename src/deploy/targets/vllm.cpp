#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/shell_word.hpp"
#include "deploy/layout.hpp"
#include "deploy/nginx.hpp"
#include "deploy/placement.hpp"
#include "deploy/shell.hpp"
#include "deploy/targets.hpp"

namespace ridgeline::deploy {
namespace {

/// One server after the other; with several, NGINX in front of them.
std::vector<File> write_vllm(const Layout& layout) {
  const Role& role = layout.roles.front();
  const Placement placement = placement_of(layout);
  std::vector<std::string> commands;
  for (const Part& part : placement.parts) {
    std::vector<std::string> words;
    for (const Flag& flag : role.flags) {
      words.push_back(flag_words(flag));
    }
    for (std::string& word : place_words(layout, part)) {
      words.push_back(std::move(word));
    }
    commands.push_back(command_text(fmt::format("{}CUDA_VISIBLE_DEVICES={} vllm serve {}",
                                                variable_words(role.variables),
                                                device_list(part.first_gpu, part.gpus),
                                                core::shell_word(layout.network)),
                                    words,
                                    role.replicas > 1 ? " &" : ""));
  }
  std::vector<File> files;
  if (role.replicas > 1) {
    files.push_back({.name = "nginx.conf", .text = nginx_conf(layout)});
  }
  files.push_back(
      {.name = "serve.sh", .text = script_of(layout, placement, commands), .is_script = true});
  return files;
}

}  // namespace

const Target kVllmTarget = {
    .abilities = {.target = "vllm", .routers = kNginxRouters, .by_nnodes = true},
    .summary = "serve.sh: vllm serve, once per replica, behind NGINX where there are several",
    .write = write_vllm};

}  // namespace ridgeline::deploy
