#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deploy/layout.hpp"

namespace ridgeline::deploy {

/// A replica, or what one node has of it.
struct Part {
  std::int64_t node = 0;
  std::int64_t rank = 0;  ///< Rank among the replica's nodes; the first one answers.
  std::int64_t head = 0;  ///< The node of the first one.
  std::int64_t first_gpu = 0;
  std::int64_t gpus = 1;
  std::int64_t port = 0;  ///< Where the replica answers.
};

/// The servers of a layout of one role on as few nodes as hold them: replicas that fit share a
/// node, larger ones have nodes of their own.
struct Placement {
  std::int64_t nodes = 1;
  std::int64_t replicas = 1;
  std::vector<Part> parts = {};  ///< By node.
};
[[nodiscard]] Placement placement_of(const Layout& layout);

/// What the nodes call each other: "node-0".
[[nodiscard]] std::string node_name(std::int64_t node);

/// Flags of `vllm serve` by which a part finds the others of its replica, or where it listens.
[[nodiscard]] std::vector<std::string> place_words(const Layout& layout, const Part& part);

/// A script of these commands (as command_text() has them), one per part, and of the gateway. Of
/// several nodes each runs its own part of it, by the variable NODE.
[[nodiscard]] std::string script_of(const Layout& layout,
                                    const Placement& placement,
                                    const std::vector<std::string>& commands);

}  // namespace ridgeline::deploy
