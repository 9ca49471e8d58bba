#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace ridgeline::core {

/// A four-byte name of a thing of one kind; ids of different kinds do not mix.
template <class Tag>
class Id {
 public:
  using Rep = std::uint32_t;

  /// The id of nothing.
  constexpr Id() = default;
  constexpr explicit Id(Rep value) : value_(value) {}

  [[nodiscard]] constexpr Rep value() const { return value_; }
  [[nodiscard]] constexpr bool valid() const { return value_ != kNone; }

  friend constexpr auto operator<=>(Id, Id) = default;
  friend constexpr bool operator==(Id, Id) = default;

 private:
  static constexpr Rep kNone = std::numeric_limits<Rep>::max();
  Rep value_ = kNone;
};

using RequestId = Id<struct RequestIdTag>;
using BlockId = Id<struct BlockIdTag>;
using InstanceId = Id<struct InstanceIdTag>;
using LoraId = Id<struct LoraIdTag>;
using GrammarId = Id<struct GrammarIdTag>;
using SessionId = Id<struct SessionIdTag>;
using LabelSetId = Id<struct LabelSetIdTag>;

/// A vector indexed by one kind of id only.
template <class T, class IdType>
class IndexVector {
 public:
  IndexVector() = default;
  explicit IndexVector(std::size_t size, const T& value = T{}) : items_(size, value) {}

  T& operator[](IdType id) { return items_[id.value()]; }
  const T& operator[](IdType id) const { return items_[id.value()]; }
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] bool contains(IdType id) const { return id.valid() && id.value() < items_.size(); }
  IdType push_back(T item) {
    items_.push_back(std::move(item));
    return IdType(static_cast<typename IdType::Rep>(items_.size() - 1));
  }
  [[nodiscard]] auto begin() { return items_.begin(); }
  [[nodiscard]] auto end() { return items_.end(); }
  [[nodiscard]] auto begin() const { return items_.begin(); }
  [[nodiscard]] auto end() const { return items_.end(); }

 private:
  std::vector<T> items_;
};

}  // namespace ridgeline::core
