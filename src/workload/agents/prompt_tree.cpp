#include "workload/agents/prompt_tree.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "workload/agents/trace.hpp"

namespace ridgeline::workload::agents {

std::int32_t PromptTree::add_run(PromptEnd at,
                                 const Blocks& ids,
                                 std::size_t begin,
                                 std::size_t end) {
  const auto number = static_cast<std::int32_t>(runs_.size());
  runs_.push_back({.parent = at.run,
                   .leaves_at = at.blocks,
                   .begin = static_cast<std::int64_t>(begin),
                   .length = static_cast<std::int32_t>(end - begin)});
  ids_.emplace_back(ids.begin() + static_cast<std::ptrdiff_t>(begin),
                    ids.begin() + static_cast<std::ptrdiff_t>(end));
  next_[{{at.run, at.blocks}, ids[begin]}] = number;
  return number;
}

PromptEnd PromptTree::add(const Blocks& ids, std::size_t count) {
  PromptEnd at;
  std::size_t done = 0;
  while (done < count) {
    if (at.run >= 0) {
      // Goes on inside the run as far as it holds the same ids.
      const Blocks& held = ids_[static_cast<std::size_t>(at.run)];
      while (done < count && static_cast<std::size_t>(at.blocks) < held.size() &&
             held[static_cast<std::size_t>(at.blocks)] == ids[done]) {
        ++at.blocks;
        ++done;
      }
      if (done == count) {
        break;
      }
    }
    const auto next = next_.find({{at.run, at.blocks}, ids[done]});
    if (next == next_.end()) {
      return {.run = add_run(at, ids, done, count),
              .blocks = static_cast<std::int32_t>(count - done)};
    }
    at = {.run = next->second, .blocks = 1};
    ++done;
  }
  return at;
}

void PromptTree::close() {
  ids_ = {};
  next_ = {};
}

std::vector<PromptEnd> PromptTree::path(PromptEnd end) const {
  std::vector<PromptEnd> parts;
  while (end.run >= 0) {
    parts.push_back(end);
    const Run& run = runs_[static_cast<std::size_t>(end.run)];
    end = {.run = run.parent, .blocks = run.leaves_at};
  }
  std::ranges::reverse(parts);
  return parts;
}

std::int64_t PromptTree::common(PromptEnd a, PromptEnd b) const {
  const std::vector<PromptEnd> left = path(a);
  const std::vector<PromptEnd> right = path(b);
  std::int64_t blocks = 0;
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (left[i].run != right[i].run) {
      break;
    }
    blocks += std::min(left[i].blocks, right[i].blocks);
    if (left[i].blocks != right[i].blocks) {
      break;
    }
  }
  return blocks;
}

}  // namespace ridgeline::workload::agents
