#include "workload/item.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/check.hpp"

namespace ridgeline::workload {

std::uint64_t content_of(std::uint64_t space, std::uint64_t number) {
  // The finalizer of MurmurHash3 (A. Appleby), a permutation, over both words in turn.
  const auto scramble = [](std::uint64_t x) {
    x ^= x >> 33U;
    x *= 0xFF51AFD7ED558CCDU;
    x ^= x >> 33U;
    x *= 0xC4CEB9FE1A85EC53U;
    return x ^ (x >> 33U);
  };
  return scramble(scramble(space + 0x9E3779B97F4A7C15U) ^ number) % kContentLimit;
}

std::int32_t Labels::intern(std::string_view text) {
  if (text.empty()) {
    return -1;
  }
  if (last_ >= 0 && names_[static_cast<std::size_t>(last_)] == text) {
    return last_;
  }
  if (const auto found = numbers_.find(text); found != numbers_.end()) {
    last_ = found->second;
    return last_;
  }
  const auto number = static_cast<std::int32_t>(names_.size());
  last_ = number;
  names_.emplace_back(text);
  numbers_.emplace(names_.back(), number);
  return number;
}

const std::string& Labels::name(std::int32_t number) const {
  RIDGELINE_CHECK(number >= 0 && static_cast<std::size_t>(number) < names_.size(), "no such label");
  return names_[static_cast<std::size_t>(number)];
}

}  // namespace ridgeline::workload
