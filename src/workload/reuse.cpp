#include "workload/reuse.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace ridgeline::workload {
namespace {

constexpr std::size_t kFirstTimes = 1024;

constexpr std::size_t lowest_bit(std::size_t x) {
  return x & (~x + 1);
}

}  // namespace

void ReuseDistances::add(std::size_t time, std::int32_t value) {
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

std::optional<std::int64_t> ReuseDistances::distance(std::uint64_t name) const {
  const auto found = last_use_.find(name);
  return found == last_use_.end() ? std::nullopt : std::optional(live_ - sum_to(found->second));
}

void ReuseDistances::use(std::uint64_t name) {
  const auto found = last_use_.find(name);
  if (found != last_use_.end()) {
    add(found->second, -1);
    live_at_[found->second] = false;
    --live_;
  }
  append(name);
  last_use_[name] = name_at_.size() - 1;
}

void ReuseDistances::use_nameless(std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    append(kNameless);
  }
}

void ReuseDistances::append(std::uint64_t name) {
  if (name_at_.size() + 1 >= tree_.size()) {
    compact();
  }
  name_at_.push_back(name);
  live_at_.push_back(true);
  add(name_at_.size() - 1, 1);
  ++live_;
}

void ReuseDistances::compact() {
  std::vector<std::uint64_t> names;
  names.reserve(static_cast<std::size_t>(live_));
  for (std::size_t time = 0; time < name_at_.size(); ++time) {
    if (live_at_[time]) {
      if (name_at_[time] != kNameless) {
        last_use_[name_at_[time]] = names.size();
      }
      names.push_back(name_at_[time]);
    }
  }
  name_at_ = std::move(names);
  live_at_.assign(name_at_.size(), true);
  tree_.assign(std::max(2 * name_at_.size(), kFirstTimes) + 1, 0);
  // Every time up to the last is live: a node sums its whole range, clipped to them.
  for (std::size_t i = 1; i < tree_.size(); ++i) {
    const std::size_t begin = i - lowest_bit(i);
    const std::size_t end = std::min(i, name_at_.size());
    tree_[i] = end > begin ? static_cast<std::int32_t>(end - begin) : 0;
  }
}

}  // namespace ridgeline::workload
