#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "core/units.hpp"

namespace ridgeline::domain {
class Chain;
}

namespace ridgeline::routing {

/// A router's memory of where it sent which prompts, as llm-d's approximate prefix cache keeps it
/// (ebab687): blocks of a prompt by a chained key, and per server the last `capacity` of them. It
/// is never corrected by what the server really holds.
class PrefixTable {
 public:
  PrefixTable(std::size_t servers, std::size_t capacity) : capacity_(capacity), recent_(servers) {}

  /// Of each server, how many of these blocks it has: counted up to the first block that no server
  /// has.
  [[nodiscard]] std::vector<std::int64_t> matches(const std::vector<std::uint64_t>& blocks) const;
  /// The prompt with these blocks went to that server. Quirk kept: of a prompt that is longer than
  /// the server's memory, the blocks it pushed out itself still count as held, until they are
  /// pushed out again.
  void add(std::size_t server, const std::vector<std::uint64_t>& blocks);

 private:
  struct Recent {
    std::list<std::uint64_t> order;  ///< The newest first.
    std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places;
  };

  void disown(std::size_t server, std::uint64_t block);

  std::size_t capacity_;
  std::vector<Recent> recent_;
  std::unordered_map<std::uint64_t, std::vector<bool>> owners_;  ///< By block: of each server.
};

/// The keys of a prompt's blocks, the last and partial one too, of at most `most` tokens.
[[nodiscard]] std::vector<std::uint64_t> block_keys(const domain::Chain& chain,
                                                    std::int64_t prompt_tokens,
                                                    std::int64_t block_tokens,
                                                    std::int64_t most);

}  // namespace ridgeline::routing
