#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace ridgeline::engine::vllm::plain {

/// The hashes of a request's full blocks, in order. The first of them may be those of another
/// request with the same tokens: a copy costs what is behind.
class BlockHashes {
 public:
  BlockHashes() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a list of hashes.
  BlockHashes(std::vector<std::uint64_t> hashes) : own_(std::move(hashes)) {}

  [[nodiscard]] std::size_t size() const { return shared_ + own_.size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] std::uint64_t operator[](std::size_t i) const {
    return i < shared_ ? (*head_)[i] : own_[i - shared_];
  }
  [[nodiscard]] std::uint64_t back() const { return (*this)[size() - 1]; }
  /// The first `count` of them, at most size(), one behind the other.
  [[nodiscard]] std::vector<std::uint64_t> list(std::size_t count) const {
    std::vector<std::uint64_t> all;
    all.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      all.push_back((*this)[i]);
    }
    return all;
  }
  void push_back(std::uint64_t hash) { own_.push_back(hash); }
  /// Keeps the first `count` of them, at most size().
  void cut(std::size_t count) {
    if (count < shared_) {
      *this = first(count);
    } else {
      own_.resize(count - shared_);
    }
  }
  /// Room for so many in all.
  void reserve(std::size_t size) { own_.reserve(size > shared_ ? size - shared_ : 0); }

  /// The first `count` of them, at most size(), from now on to be copied without cost.
  [[nodiscard]] BlockHashes first(std::size_t count) const {
    BlockHashes some;
    if (count <= shared_) {
      some.head_ = head_;
    } else {
      auto all = std::make_shared<std::vector<std::uint64_t>>();
      all->reserve(count);
      for (std::size_t i = 0; i < count; ++i) {
        all->push_back((*this)[i]);
      }
      some.head_ = std::move(all);
    }
    some.shared_ = count;
    return some;
  }

 private:
  std::shared_ptr<const std::vector<std::uint64_t>> head_;
  std::size_t shared_ = 0;  ///< Hashes taken from the head, from its first on.
  std::vector<std::uint64_t> own_;
};

}  // namespace ridgeline::engine::vllm::plain
