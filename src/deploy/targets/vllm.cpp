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

/// One server after the other on this machine; with several, NGINX in front of them.
std::vector<File> write_vllm(const Layout& layout) {
  const Role& role = layout.roles.front();
  const bool is_one = role.replicas == 1;
  std::string text = script_head(layout);
  if (!is_one) {
    text += kStopTogether;
  }
  for (std::int64_t i = 0; i < role.replicas; ++i) {
    std::vector<std::string> words;
    for (const Flag& flag : role.flags) {
      words.push_back(flag_words(flag));
    }
    words.push_back(fmt::format("--port {}", is_one ? kPort : kFirstReplicaPort + i));
    text += "\n";
    text += command_text(fmt::format("{}CUDA_VISIBLE_DEVICES={} vllm serve {}",
                                     variable_words(role.variables),
                                     device_list(i * role.gpus, role.gpus),
                                     core::shell_word(layout.network)),
                         words,
                         is_one ? "" : " &");
  }
  std::vector<File> files;
  if (!is_one) {
    text += gateway_command(layout);
    files.push_back({.name = "nginx.conf", .text = nginx_conf(layout)});
  }
  files.push_back({.name = "serve.sh", .text = text, .is_script = true});
  return files;
}

}  // namespace

const Target kVllmTarget = {
    .abilities = {.target = "vllm", .routers = kNginxRouters, .one_node = true},
    .summary =
        "serve.sh: vllm serve, once per replica of one machine, behind NGINX where there are "
        "several",
    .write = write_vllm};

}  // namespace ridgeline::deploy
