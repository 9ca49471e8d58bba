#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/shell_word.hpp"
#include "deploy/layout.hpp"
#include "deploy/nginx.hpp"
#include "deploy/pod.hpp"
#include "deploy/shell.hpp"
#include "deploy/targets.hpp"

namespace ridgeline::deploy {
namespace {

/// A container per replica. The entry point is stated: that of the image differs by version. The
/// token goes in by its name, from the script's own environment.
std::vector<File> write_docker(const Layout& layout) {
  const Role& role = layout.roles.front();
  const bool is_one = role.replicas == 1;
  std::string text = script_head(layout);
  if (!is_one) {
    text += kStopTogether;
  }
  for (std::int64_t i = 0; i < role.replicas; ++i) {
    std::vector<std::string> words = {
        fmt::format(
            "--gpus {}",
            core::shell_word(fmt::format("\"device={}\"", device_list(i * role.gpus, role.gpus)))),
        fmt::format("--ipc=host -p {}:{}", is_one ? kPort : kFirstReplicaPort + i, kPort),
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
    text += "\n" + command_text("docker run --rm", words, is_one ? "" : " &");
  }
  std::vector<File> files;
  if (!is_one) {
    text += gateway_command(layout);
    files.push_back({.name = "nginx.conf", .text = nginx_conf(layout)});
  }
  files.push_back({.name = "run.sh", .text = text, .is_script = true});
  return files;
}

}  // namespace

const Target kDockerTarget = {
    .abilities = {.target = "docker", .routers = kNginxRouters, .one_node = true},
    .summary =
        "run.sh: docker run, a container per replica of one machine, behind NGINX where there are "
        "several",
    .write = write_docker};

}  // namespace ridgeline::deploy
