#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

namespace ridgeline::core {

/// A list that is filled and emptied all the time: a vector of plain values whose clear() and
/// push_back() are a store or two. (std::vector looks whether there is something to destroy, a
/// branch that a processor cannot predict where lists are as often empty as not.)
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T* begin() { return items_.data(); }
  [[nodiscard]] T* end() { return items_.data() + size_; }
  [[nodiscard]] const T* begin() const { return items_.data(); }
  [[nodiscard]] const T* end() const { return items_.data() + size_; }
  [[nodiscard]] T& operator[](std::size_t i) { return items_[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return items_[i]; }
  [[nodiscard]] const T& front() const { return items_[0]; }
  [[nodiscard]] const T& back() const { return items_[size_ - 1]; }
  [[nodiscard]] std::span<const T> span() const { return {begin(), size_}; }

  void push_back(const T& item) {
    if (size_ == capacity_) [[unlikely]] {
      grow(item);
    } else {
      items_[size_] = item;
    }
    ++size_;
  }
  /// One more, to be assigned: it still holds what stood in its place before. (What is put together
  /// elsewhere and copied here in one piece makes a processor wait for its parts.)
  T& extend() {
    if (size_ == capacity_) [[unlikely]] {
      grow(T{});
    }
    return items_[size_++];
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  /// Removes all that `unwanted` says yes to, and tells how many they were.
  template <class Predicate>
  std::size_t erase_if(Predicate unwanted) {
    const T* const kept = std::remove_if(begin(), end(), unwanted);
    const auto gone = static_cast<std::size_t>(end() - kept);
    size_ -= gone;
    return gone;
  }
  std::size_t erase(const T& item) {
    return erase_if([&item](const T& other) { return other == item; });
  }

 private:
  [[gnu::noinline]] void grow(const T& item) {
    items_.push_back(item);
    items_.resize(items_.capacity());
    capacity_ = items_.size();
  }

  std::vector<T> items_;  ///< As many as there were at once; the first size_ of them count.
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;  ///< items_.size(), which a vector divides out each time.
};

}  // namespace ridgeline::core
