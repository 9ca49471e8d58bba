#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "core/units.hpp"

namespace ridgeline::domain {

/// A run of prompt tokens known by what it holds. Token i of a segment is a function of (content,
/// i): two segments with equal content agree on their common length, so prompts that begin with
/// equal segments share a prefix. Token ids, hash ids per block and shared-prefix groups all reduce
/// to this.
struct Segment {
  std::uint64_t content = 0;
  core::Tokens length;

  friend bool operator==(const Segment&, const Segment&) = default;
};

/// Whether a content is what a request was asked or answered (unique_content, output_content): one
/// of the two highest bits is set.
constexpr bool is_of_a_request(std::uint64_t content) {
  return (content >> 62) != 0;
}

/// Segments in order, each with its place and a hash of all before it, so that a key of the tokens
/// up to any position costs a search and a few multiplications. Segments are only ever added: what
/// refers to the first of them stays as it is.
class History {
 public:
  History() = default;
  /// One that goes on after `tokens` tokens with this hash.
  History(std::int64_t tokens, std::uint64_t hash) : end_(tokens), hash_(hash) {}

  /// Requires a length above zero.
  void append(const Segment& segment) {
    if (is_of_a_request(segment.content)) {
      first_quote_ = std::min(first_quote_, parts_.size());
    }
    parts_.push_back({.begin = end_, .hash = hash_, .content = segment.content});
    hash_ = next_hash(hash_, segment.content, segment.length.value());
    end_ += segment.length.value();
  }
  void restart(std::int64_t tokens, std::uint64_t hash) {
    parts_.clear();
    end_ = tokens;
    hash_ = hash;
    first_quote_ = kNowhere;
  }

  [[nodiscard]] std::size_t size() const { return parts_.size(); }
  [[nodiscard]] Segment operator[](std::size_t i) const {
    return {.content = parts_[i].content, .length = core::Tokens(begin_of(i + 1) - begin_of(i))};
  }
  /// Tokens before segment i; before all that may follow where i is size().
  [[nodiscard]] std::int64_t begin_of(std::size_t i) const {
    return i < parts_.size() ? parts_[i].begin : end_;
  }
  /// The hash of the segments before segment i.
  [[nodiscard]] std::uint64_t hash_before(std::size_t i) const {
    return i < parts_.size() ? parts_[i].hash : hash_;
  }
  /// Whether one of the first `count` segments is what another request was asked or answered.
  [[nodiscard]] bool quotes(std::size_t count) const { return first_quote_ < count; }
  /// The key of the tokens [0, end). Requires `end` behind the first token of the history, and not
  /// behind its last. `salt` tells apart what equal tokens do not make equal.
  [[nodiscard]] std::uint64_t key(std::int64_t end, std::uint64_t salt) const {
    // The last segment that begins before `end`.
    const auto after =
        std::lower_bound(parts_.begin(), parts_.end(), end, [](const Part& part, std::int64_t at) {
          return part.begin < at;
        });
    const Part& part = *(after - 1);
    return key_in(part.hash ^ salt, part.content, end - part.begin);
  }

  /// The key of `length` tokens of a content behind what has this hash; never 0.
  [[nodiscard]] static std::uint64_t key_in(std::uint64_t hash,
                                            std::uint64_t content,
                                            std::int64_t length) {
    const std::uint64_t key = mix(mix(hash ^ content) + static_cast<std::uint64_t>(length));
    return key == 0 ? 1 : key;
  }
  /// The hash of what has a hash with a segment behind it.
  [[nodiscard]] static std::uint64_t next_hash(std::uint64_t hash,
                                               std::uint64_t content,
                                               std::int64_t length) {
    return mix(key_in(hash, content, length) + kPieceEnd);
  }
  /// A number as a salt. Mixed, because contents are as small and as near to each other as numbers
  /// are.
  [[nodiscard]] static std::uint64_t salt_of(std::uint64_t number) {
    return mix(number + kPieceEnd);
  }

 private:
  struct Part {
    std::int64_t begin = 0;
    std::uint64_t hash = 0;  ///< Hash of all segments before it.
    std::uint64_t content = 0;
  };
  /// 2^64 / golden ratio: keeps the hash of a finished segment apart from the key of its end.
  static constexpr std::uint64_t kPieceEnd = 0x9e3779b97f4a7c15ULL;
  static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

  static std::uint64_t mix(std::uint64_t x) {
    // Murmur3's 64-bit finaliser (Appleby 2011), a bijection.
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    x ^= x >> 33;
    return x;
  }
  std::vector<Part> parts_;
  std::int64_t end_ = 0;
  std::uint64_t hash_ = 0;
  std::size_t first_quote_ = kNowhere;
};

/// What a prompt holds, as segments in order: those that it shares with other prompts of its
/// conversation, and then its own. A turn of a conversation costs what it adds, not what came
/// before.
class Prompt {
 public:
  class Iterator;
  using value_type = Segment;
  using const_iterator = Iterator;
  using iterator = Iterator;

  Prompt() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a list of segments is a prompt.
  Prompt(std::initializer_list<Segment> segments) : own_(segments) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Prompt(std::vector<Segment> segments) : own_(std::move(segments)) {}
  /// The first `count` segments of a history.
  Prompt(std::shared_ptr<const History> history, std::size_t count)
      : history_(std::move(history)), shared_(count) {}

  [[nodiscard]] bool empty() const { return shared_ == 0 && own_.empty(); }
  [[nodiscard]] std::size_t size() const { return shared_ + own_.size(); }
  [[nodiscard]] Segment operator[](std::size_t i) const {
    return i < shared_ ? (*history_)[i] : own_[i - shared_];
  }
  [[nodiscard]] Segment front() const { return (*this)[0]; }
  [[nodiscard]] Segment back() const { return (*this)[size() - 1]; }
  [[nodiscard]] inline Iterator begin() const;
  [[nodiscard]] inline Iterator end() const;

  void clear() {
    own_.clear();
    if (shared_ != 0) [[unlikely]] {
      history_.reset();
      shared_ = 0;
    }
  }
  void push_back(const Segment& segment) { own_.push_back(segment); }
  /// Leaves out the last segment. Requires one.
  void pop_back() {
    if (own_.empty()) {
      --shared_;
    } else {
      own_.pop_back();
    }
  }

  /// The history that the first num_shared() segments stand in; nothing where there are none.
  [[nodiscard]] const std::shared_ptr<const History>& history() const { return history_; }
  [[nodiscard]] std::size_t num_shared() const { return shared_; }
  /// The segments behind those.
  [[nodiscard]] const std::vector<Segment>& own() const { return own_; }
  [[nodiscard]] std::vector<Segment>& own() { return own_; }

  friend inline bool operator==(const Prompt& a, const Prompt& b);

 private:
  std::shared_ptr<const History> history_;
  std::size_t shared_ = 0;
  std::vector<Segment> own_;
};

class Prompt::Iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Segment;
  using difference_type = std::ptrdiff_t;
  using reference = Segment;
  using pointer = void;

  Iterator() = default;
  Iterator(const Prompt& prompt, std::size_t at) : prompt_(&prompt), at_(at) {}
  Segment operator*() const { return (*prompt_)[at_]; }
  Iterator& operator++() {
    ++at_;
    return *this;
  }
  Iterator operator++(int) {
    const Iterator before = *this;
    ++at_;
    return before;
  }
  friend bool operator==(const Iterator&, const Iterator&) = default;

 private:
  const Prompt* prompt_ = nullptr;
  std::size_t at_ = 0;
};

inline Prompt::Iterator Prompt::begin() const {
  return {*this, 0};
}
inline Prompt::Iterator Prompt::end() const {
  return {*this, size()};
}
inline bool operator==(const Prompt& a, const Prompt& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

}  // namespace ridgeline::domain
