#include "deploy/placement.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "deploy/layout.hpp"
#include "deploy/nginx.hpp"
#include "deploy/pod.hpp"
#include "deploy/shell.hpp"

namespace ridgeline::deploy {

Placement placement_of(const Layout& layout) {
  const Role& role = layout.roles.front();
  Placement placed{.replicas = role.replicas};
  const std::int64_t share = std::max<std::int64_t>(1, layout.gpus_per_node / role.gpus);
  for (std::int64_t i = 0; i < role.replicas; ++i) {
    const std::int64_t head = role.nodes > 1 ? i * role.nodes : i / share;
    const std::int64_t at = role.nodes > 1 ? 0 : i % share;
    for (std::int64_t rank = 0; rank < role.nodes; ++rank) {
      placed.parts.push_back({.node = head + rank,
                              .rank = rank,
                              .head = head,
                              .first_gpu = at * role.gpus,
                              .gpus = role.gpus / role.nodes,
                              .port = role.replicas == 1 ? kPort : kFirstReplicaPort + at});
      placed.nodes = head + rank + 1;
    }
  }
  return placed;
}

std::string node_name(std::int64_t node) {
  return fmt::format("node-{}", node);
}

std::vector<std::string> place_words(const Layout& layout, const Part& part) {
  std::vector<std::string> words;
  const std::int64_t nodes = layout.roles.front().nodes;
  if (nodes > 1) {
    words.push_back(fmt::format("--nnodes {}", nodes));
    words.push_back(fmt::format("--node-rank {}", part.rank));
    words.push_back(fmt::format("--master-addr {}", node_name(part.head)));
  }
  words.push_back(part.rank > 0 ? "--headless" : fmt::format("--port {}", part.port));
  return words;
}

std::string script_of(const Layout& layout,
                      const Placement& placement,
                      const std::vector<std::string>& commands) {
  const bool is_one = placement.replicas == 1;
  std::string text = script_head(layout);
  const std::string_view together = is_one ? "" : kStopTogether;
  const std::string gateway = is_one ? "" : gateway_command(layout);
  if (placement.nodes == 1) {
    text += together;
    for (const std::string& command : commands) {
      text += "\n" + command;
    }
    return text + gateway;
  }
  const std::int64_t last = placement.nodes - 1;
  text += fmt::format(
      "# Run it on each node, with NODE=0 to NODE={}; each resolves {} to {}.\n"
      "case \"${{NODE:?expected the number of this node, 0 to {}}}\" in\n",
      last,
      node_name(0),
      node_name(last),
      last);
  for (std::int64_t node = 0; node <= last; ++node) {
    text += fmt::format("{})\n{}", node, together);
    for (std::size_t i = 0; i < commands.size(); ++i) {
      if (placement.parts[i].node == node) {
        text += commands[i];
      }
    }
    text += is_one ? "" : node == 0 ? gateway : "wait -n\n";
    text += ";;\n";
  }
  return text +
         fmt::format("*)\necho \"NODE=$NODE: expected 0 to {}\" 1>&2\nexit 2\n;;\nesac\n", last);
}

}  // namespace ridgeline::deploy
