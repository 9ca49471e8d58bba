#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ids.hpp"
#include "domain/prompt.hpp"
#include "domain/request.hpp"

namespace ridgeline::cluster {

/// Which instances may hold KV of a prompt: those that were sent one that begins with the same
/// content. Never too few; too many where instances have evicted it, or contents share a row of the
/// table. So most instances need not be asked what they have cached of a prompt.
class SentContents {
 public:
  explicit SentContents(std::size_t instances)
      : words_per_row_((instances + kBits - 1) / kBits), rows_(kRows * words_per_row_) {}

  void note(const domain::Request& request, core::InstanceId instance) {
    if (is_kept(request)) {
      rows_[word_of(request, instance)] |= bit_of(instance);
    }
  }
  /// Always of prompts that begin with what is a request's own: there are too many of these to
  /// keep.
  [[nodiscard]] bool may_hold(const domain::Request& request, core::InstanceId instance) const {
    return !is_kept(request) || (rows_[word_of(request, instance)] & bit_of(instance)) != 0;
  }

 private:
  static constexpr std::size_t kBits = 64;
  static constexpr std::size_t kRows = std::size_t{1} << 16;

  static bool is_kept(const domain::Request& request) {
    return !request.prompt.empty() && !domain::is_of_a_request(request.prompt.front().content);
  }
  [[nodiscard]] std::size_t word_of(const domain::Request& request,
                                    core::InstanceId instance) const {
    const std::uint64_t key = domain::History::salt_of(request.prompt.front().content);
    return (key % kRows) * words_per_row_ + instance.value() / kBits;
  }
  static std::uint64_t bit_of(core::InstanceId instance) {
    return std::uint64_t{1} << (instance.value() % kBits);
  }

  std::size_t words_per_row_;
  std::vector<std::uint64_t> rows_;
};

}  // namespace ridgeline::cluster
