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

std::vector<File> write_sglang(const Layout& layout) {
  const Role& role = layout.roles.front();
  const bool is_one = role.replicas == 1;
  std::string text = script_head(layout);
  if (!is_one) {
    text += kStopTogether;
  }
  for (std::int64_t i = 0; i < role.replicas; ++i) {
    std::vector<std::string> words = {
        fmt::format("--model-path {}", core::shell_word(layout.network))};
    for (const Flag& flag : role.flags) {
      words.push_back(flag_words(flag));
    }
    words.push_back(fmt::format("--port {}", is_one ? kPort : kFirstReplicaPort + i));
    text +=
        "\n" + command_text(fmt::format("{}CUDA_VISIBLE_DEVICES={} python3 -m sglang.launch_server",
                                        variable_words(role.variables),
                                        device_list(i * role.gpus, role.gpus)),
                            words,
                            is_one ? "" : " &");
  }
  std::vector<File> files;
  if (!is_one) {
    text += gateway_command(layout);
    files.push_back({.name = "nginx.conf", .text = nginx_conf(layout)});
  }
  files.push_back({.name = "launch.sh", .text = text, .is_script = true});
  return files;
}

}  // namespace

const Target kSglangTarget = {.abilities = {.target = "sglang",
                                            .engine = "sglang",
                                            .routers = kNginxRouters,
                                            .one_node = true},
                              .summary =
                                  "launch.sh: sglang.launch_server, once per replica of one "
                                  "machine; of plans of SGLang alone",
                              .write = write_sglang};

}  // namespace ridgeline::deploy
