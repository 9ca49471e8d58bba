#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/shell_word.hpp"
#include "deploy/layout.hpp"
#include "deploy/nginx.hpp"
#include "deploy/placement.hpp"
#include "deploy/pod.hpp"
#include "deploy/shell.hpp"
#include "deploy/targets.hpp"

namespace ridgeline::deploy {
namespace {

/// A container per replica, or per node of one. The entry point is stated: that of the image
/// differs by version. The token goes in by its name, from the script's own environment.
std::vector<File> write_docker(const Layout& layout) {
  const Role& role = layout.roles.front();
  const Placement placement = placement_of(layout);
  const bool is_spread = placement.nodes > 1;
  std::vector<std::string> commands;
  for (const Part& part : placement.parts) {
    std::vector<std::string> words = {
        fmt::format(
            "--gpus {}",
            core::shell_word(fmt::format("\"device={}\"", device_list(part.first_gpu, part.gpus)))),
        is_spread ? std::string("--ipc=host --network=host")
                  : fmt::format("--ipc=host -p {}:{}", part.port, kPort),
        "-v \"$HOME/.cache/huggingface:/models\" -e HF_HOME=/models",
        "-e HF_TOKEN"};
    for (const Variable& variable : role.variables) {
      words.push_back(fmt::format("-e {}={}", variable.name, core::shell_word(variable.value)));
    }
    words.push_back(fmt::format("--entrypoint vllm {}", core::shell_word(layout.image)));
    words.push_back(fmt::format("serve {}", core::shell_word(layout.network)));
    for (const Flag& flag : role.flags) {
      words.push_back(flag_words(flag));
    }
    if (is_spread) {
      for (std::string& word : place_words(layout, part)) {
        words.push_back(std::move(word));
      }
    }
    commands.push_back(command_text("docker run --rm", words, role.replicas > 1 ? " &" : ""));
  }
  std::vector<File> files;
  if (role.replicas > 1) {
    files.push_back({.name = "nginx.conf", .text = nginx_conf(layout)});
  }
  files.push_back(
      {.name = "run.sh", .text = script_of(layout, placement, commands), .is_script = true});
  return files;
}

}  // namespace

const Target kDockerTarget = {
    .abilities = {.target = "docker", .routers = kNginxRouters, .by_nnodes = true},
    .summary = "run.sh: docker run, a container per replica, behind NGINX where there are several",
    .write = write_docker};

}  // namespace ridgeline::deploy
