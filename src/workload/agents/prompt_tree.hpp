#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "domain/prompt.hpp"
#include "workload/agents/trace.hpp"

namespace ridgeline::workload::agents {

/// The named blocks of a prompt: a place in a PromptTree.
struct PromptEnd {
  std::int32_t run = -1;    ///< -1: no named block.
  std::int32_t blocks = 0;  ///< How many blocks of the run.

  friend bool operator==(const PromptEnd&, const PromptEnd&) = default;
};

/// Prompts of one trace as a tree of runs of blocks: prompts that begin alike share the runs that
/// they begin with, so that a turn costs the blocks that it adds. A run's number says
/// what it holds.
class PromptTree {
 public:
  /// A prompt of these ids.
  [[nodiscard]] PromptEnd add(const Blocks& ids, std::size_t count);
  /// No prompt will be added any more: forgets the ids.
  void close();

  /// Blocks of a prompt.
  [[nodiscard]] std::int64_t size(PromptEnd end) const {
    return end.run < 0 ? 0 : runs_[static_cast<std::size_t>(end.run)].begin + end.blocks;
  }
  /// Blocks that two prompts have in common at their beginning.
  [[nodiscard]] std::int64_t common(PromptEnd a, PromptEnd b) const;
  /// (run, blocks of it) from the beginning of the prompt to its end.
  [[nodiscard]] std::vector<PromptEnd> path(PromptEnd end) const;

 private:
  struct Run {
    std::int32_t parent = -1;
    std::int32_t leaves_at = 0;  ///< Blocks of the parent before it.
    std::int64_t begin = 0;      ///< Blocks before it.
    std::int32_t length = 0;
  };
  [[nodiscard]] std::int32_t add_run(PromptEnd at,
                                     const Blocks& ids,
                                     std::size_t begin,
                                     std::size_t end);

  std::vector<Run> runs_;
  std::vector<Blocks> ids_;  ///< Ids by run, until close().
  /// By (run, blocks of it, first id).
  std::map<std::pair<std::pair<std::int32_t, std::int32_t>, std::uint32_t>, std::int32_t> next_;
};

}  // namespace ridgeline::workload::agents
