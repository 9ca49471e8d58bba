#include "workload/reuse.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "domain/chain.hpp"

namespace ridgeline::workload {
namespace {

constexpr std::size_t kFirstTimes = 1024;

constexpr std::size_t lowest_bit(std::size_t x) {
  return x & (~x + 1);
}

}  // namespace

void ReuseDistances::add(std::size_t time, std::int64_t value) {
  for (std::size_t i = time + 1; i < tree_.size(); i += lowest_bit(i)) {
    tree_[i] += value;
  }
}

std::int64_t ReuseDistances::sum_to(std::size_t time) const {
  std::int64_t sum = 0;
  for (std::size_t i = time + 1; i > 0; i -= lowest_bit(i)) {
    sum += tree_[i];
  }
  return sum;
}

/// Where the blocks of a row end that the tokens have from `block` on, which both of them have:
/// those behind the first that differs differ too. By bisection, but a request that goes on from
/// another has all of its row.
std::int64_t ReuseDistances::common_end(const Row& row,
                                        const domain::Chain& chain,
                                        std::int64_t tokens,
                                        std::int64_t block) const {
  std::int64_t same = block;
  std::int64_t other = std::min(blocks_of(tokens), blocks_of(row.tokens));
  for (std::int64_t next = other - 1; same + 1 < other; next = same + (other - same) / 2) {
    const bool is_same = key_of(chain, tokens, next) == key_of(row.chain, row.tokens, next);
    (is_same ? same : other) = next;
  }
  return same + 1;
}

void ReuseDistances::use(const domain::Chain& chain, std::int64_t tokens) {
  const std::int64_t blocks = blocks_of(tokens);
  for (std::int64_t block = 0; block < blocks;) {
    const auto found = rows_by_key_.find(key_of(chain, tokens, block));
    if (found == rows_by_key_.end()) {
      break;
    }
    const RowIndex index = found->second;
    rows_by_key_.erase(found);
    Row& row = rows_[index];
    const std::int64_t end = common_end(row, chain, tokens, block);
    uses_[row.time].blocks -= end - block;
    add(row.time, block - end);
    live_ -= end - block;
    if (end < blocks_of(row.tokens)) {
      row.begin = end;
      rows_by_key_[key_of(row.chain, row.tokens, end)] = index;
    } else {
      row = {};
      spare_rows_.push_back(index);
    }
    block = end;
  }
  if (blocks == 0) {
    return;
  }
  if (spare_rows_.empty()) {
    spare_rows_.push_back(static_cast<RowIndex>(rows_.size()));
    rows_.emplace_back();
  }
  const RowIndex index = spare_rows_.back();
  spare_rows_.pop_back();
  append(blocks, index);
  rows_[index] = {.chain = chain, .tokens = tokens, .begin = 0, .time = uses_.size() - 1};
  rows_by_key_[key_of(chain, tokens, 0)] = index;
}

void ReuseDistances::use_nameless(std::int64_t count) {
  if (!uses_.empty() && uses_.back().row == kNoRow) {
    uses_.back().blocks += count;
    add(uses_.size() - 1, count);
    live_ += count;
  } else if (count > 0) {
    append(count, kNoRow);
  }
}

void ReuseDistances::append(std::int64_t blocks, RowIndex row) {
  if (uses_.size() + 1 >= tree_.size()) {
    compact();
  }
  uses_.push_back({.blocks = blocks, .row = row});
  add(uses_.size() - 1, blocks);
  live_ += blocks;
}

/// Leaves out the times whose blocks were all used later.
void ReuseDistances::compact() {
  std::vector<Use> uses;
  for (const Use& use : uses_) {
    if (use.blocks > 0) {
      if (use.row != kNoRow) {
        rows_[use.row].time = uses.size();
      }
      uses.push_back(use);
    }
  }
  uses_ = std::move(uses);
  tree_.assign(std::max(2 * uses_.size(), kFirstTimes) + 1, 0);
  // Each node hands its sum on to the next that covers it.
  for (std::size_t i = 1; i < tree_.size(); ++i) {
    tree_[i] += i <= uses_.size() ? uses_[i - 1].blocks : 0;
    if (const std::size_t above = i + lowest_bit(i); above < tree_.size()) {
      tree_[above] += tree_[i];
    }
  }
}

}  // namespace ridgeline::workload
