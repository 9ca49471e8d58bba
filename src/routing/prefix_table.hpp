#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/ids.hpp"
#include "core/ring.hpp"
#include "domain/chain.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {

/// The blocks of a prompt that are its request's own: no other prompt has them unless it quotes the
/// request. Small, as a router remembers those of many prompts. A block is of so many tokens, the
/// last one may be partial.
struct OwnBlocks {
  std::uint64_t hash = 0;  ///< As domain::Chain::OwnTokens, like the next two.
  std::uint64_t content = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;  ///< End of the last block, in tokens of the prompt.

  [[nodiscard]] std::int64_t count(std::int64_t block_tokens) const {
    return (end + block_tokens - 1) / block_tokens - begin / block_tokens;
  }
  /// The key of block i of these.
  [[nodiscard]] std::uint64_t key(std::int64_t i, std::int64_t block_tokens) const {
    const std::int64_t behind = (begin / block_tokens + i + 1) * block_tokens;
    return domain::Chain::OwnTokens{.hash = hash, .content = content, .begin = begin}.key(
        std::min(behind, std::int64_t{end}));
  }
};

/// The blocks of a prompt: first those by key that other prompts may have too, then its own.
struct PromptBlocks {
  std::vector<std::uint64_t> keys;
  std::int64_t own_count = 0;  ///< 0: all have keys.
  OwnBlocks own = {};
  std::int64_t block_tokens = 1;

  [[nodiscard]] std::int64_t size() const {
    return static_cast<std::int64_t>(keys.size()) + own_count;
  }
};

/// Reads prompts as blocks for one router. From the first prompt on that may have an earlier one's
/// own blocks (it quotes a request, or its request was sent before), every block has its key. So it
/// has from the first one on that is longer than a router's memory, which is a case of its own, or
/// than OwnBlocks counts.
class PromptReader {
 public:
  struct Blocks {
    std::int64_t tokens = 64;     ///< Tokens of a block.
    std::int64_t most = 131'072;  ///< Tokens of a prompt that count.
    bool whole = false;           ///< A last and partial block does not count.
    std::int64_t memory = 0;      ///< Blocks that the router remembers of a server.
  };
  explicit PromptReader(const Blocks& blocks) : blocks_(blocks) {}

  /// Valid until the next call.
  const PromptBlocks& read(const RouteInput& input);
  /// The request that was read last is sent.
  void note_sent(core::RequestId id);
  /// Whether own blocks have keys from now on: those that are remembered need theirs too.
  [[nodiscard]] bool own_blocks_have_keys() const { return own_blocks_have_keys_; }

 private:
  Blocks blocks_;
  core::RequestId::Rep next_id_ = 0;  ///< No request from this one on was sent.
  bool own_blocks_have_keys_ = false;
  domain::Chain chain_;
  PromptBlocks prompt_;
};

/// A router's memory of where it sent which prompts, as llm-d's approximate prefix cache keeps it
/// (ebab687): blocks of a prompt by a chained key, and per server the last `capacity` of them. It
/// is never corrected by what the server really holds. Own blocks are one row, apart from the
/// blocks with keys, until they are given keys.
class PrefixTable {
 public:
  PrefixTable(std::size_t servers, std::size_t capacity)
      : capacity_(static_cast<std::int64_t>(capacity)) {
    make_room(servers);
  }

  /// There are at least so many servers.
  void make_room(std::size_t servers) {
    if (servers > recent_.size()) {
      recent_.resize(servers);
      counts_.resize(servers);
    }
  }
  /// How many of these blocks each server has: counted up to the first block that no server has.
  /// Own blocks are on no server. Valid until the next call.
  [[nodiscard]] std::span<const std::int64_t> matches(const PromptBlocks& blocks);
  /// Whether the last matches() found any.
  [[nodiscard]] bool has_matches() const { return has_counts_; }
  /// The prompt with these blocks went to that server. Quirk kept: of a prompt that is longer than
  /// the server's memory, the blocks it pushed out itself still count as held, until they are
  /// pushed out again.
  void add(std::size_t server, const PromptBlocks& blocks);
  /// The server is gone: what it got is forgotten.
  void forget(std::size_t server);
  /// From now on the own blocks of all prompts so far can be found by their keys.
  void give_keys_to_own_blocks();

 private:
  /// A block with its key.
  struct Block {
    std::uint64_t key = 0;
    std::uint64_t rows = 0;  ///< Own blocks that the server had when this last went there.
  };
  struct Recent {
    std::list<Block> order;       ///< The newest first.
    core::Ring<OwnBlocks> own;    ///< Rows of one prompt's blocks without keys, the oldest first.
    std::uint64_t rows_gone = 0;  ///< Rows before those.
    std::int64_t first_row_gone = 0;  ///< Blocks at the beginning of the first row.
    std::int64_t size = 0;            ///< In blocks, of both.
    std::unordered_map<std::uint64_t, std::list<Block>::iterator> places;
  };

  void push(std::size_t server, std::uint64_t key);
  void push_own(std::size_t server, const PromptBlocks& blocks);
  void forget_oldest(std::size_t server);
  void forget_own_blocks(Recent& recent, std::int64_t count) const;
  void own(std::size_t server, std::uint64_t block);
  void disown(std::size_t server, std::uint64_t block);

  std::int64_t capacity_;
  std::vector<Recent> recent_;
  /// By block: a bit for each server that has it.
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> owners_;
  std::vector<std::int64_t> counts_;  ///< Scratch of matches().
  bool has_counts_ = false;           ///< Not all of these are 0.
  bool has_own_blocks_ = false;       ///< There may be rows of them.
  std::int64_t block_tokens_ = 1;     ///< Tokens of an own block.
};

/// The prompts that a router has sent, and where: what policies that follow prompts have in common.
class SentPrompts {
 public:
  /// Blocks::memory is the table's capacity.
  explicit SentPrompts(const PromptReader::Blocks& blocks)
      : reader_(blocks), table_(0, static_cast<std::size_t>(blocks.memory)) {}

  /// How many blocks of the prompt at hand were sent to each instance, by its id. Valid until the
  /// next call.
  [[nodiscard]] std::span<const std::int64_t> matches(const RouteInput& input) {
    table_.make_room(input.id_room());
    prompt_ = &reader_.read(input);
    if (reader_.own_blocks_have_keys()) {
      table_.give_keys_to_own_blocks();
    }
    return table_.matches(*prompt_);
  }
  /// Whether any instance has a block of the last matches().
  [[nodiscard]] bool has_matches() const { return table_.has_matches(); }
  /// The prompt of the last matches().
  [[nodiscard]] const PromptBlocks& prompt() const { return *prompt_; }
  /// PromptReader::own_blocks_have_keys().
  [[nodiscard]] bool own_blocks_have_keys() const { return reader_.own_blocks_have_keys(); }

  /// As Router::on_dispatch() and Router::on_gone(), of the prompt at hand.
  void on_dispatch(const RouteInput& input, core::InstanceId instance) {
    table_.add(instance.value(), *prompt_);
    reader_.note_sent(input.request.id);
  }
  void on_gone(core::InstanceId instance) { table_.forget(instance.value()); }

 private:
  PromptReader reader_;
  PrefixTable table_;
  const PromptBlocks* prompt_ = nullptr;
};

/// The keys of a prompt's blocks, the last and partial one too, of at most `most` tokens.
[[nodiscard]] std::vector<std::uint64_t> block_keys(const domain::Chain& chain,
                                                    std::int64_t prompt_tokens,
                                                    std::int64_t block_tokens,
                                                    std::int64_t most);

}  // namespace ridgeline::routing
