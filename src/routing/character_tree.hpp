#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace ridgeline::routing {

/// A run of characters: from `offset` on of a content, as domain::Segment.
struct TextPiece {
  std::uint64_t content = 0;
  std::int64_t offset = 0;
  std::int64_t length = 0;
};
using Text = std::vector<TextPiece>;

[[nodiscard]] std::int64_t length_of(const Text& text);

/// A router's memory of which worker got which prompts: SGLang gateway's radix tree over characters
/// (e8d57e7), one for all workers.
class CharacterTree {
 public:
  explicit CharacterTree(std::size_t workers);
  /// Makes room for that many workers; those there are stay.
  void reserve(std::size_t workers) { characters_.resize(std::max(workers, characters_.size())); }

  struct Match {
    std::int64_t characters = 0;
    std::optional<std::size_t> worker;  ///< The one that was given it first and still has it.
  };
  /// The longest beginning of the text that any worker was given.
  [[nodiscard]] Match match(const Text& text) const;
  /// The text went to that worker.
  void insert(const Text& text, std::size_t worker);
  /// Forgets all that a worker was given.
  void forget(std::size_t worker);
  /// Takes leaves away from each worker with more characters than `most`, the oldest first, until
  /// it has no more.
  void evict(std::int64_t most);

 private:
  struct Node {
    Text text;
    Node* parent = nullptr;
    std::map<std::pair<std::uint64_t, std::int64_t>, std::unique_ptr<Node>> children;
    std::size_t first = 0;                       ///< The worker that was given it first.
    std::map<std::size_t, std::int64_t> owners;  ///< Worker to when it was last given it.
  };

  /// Cuts a node after so many characters; gives the first part.
  Node* split(Node* node, std::int64_t characters);
  void own(Node* node, std::size_t worker);
  /// The node no longer counts for the worker; without owners and children it goes.
  void disown(Node* node, std::size_t worker);
  static void forget_below(Node& node, std::size_t worker);
  [[nodiscard]] Node* oldest_leaf(Node* node, std::size_t worker) const;

  std::unique_ptr<Node> root_;
  std::vector<std::int64_t> characters_;  ///< By worker.
  std::int64_t clock_ = 0;
};

}  // namespace ridgeline::routing
