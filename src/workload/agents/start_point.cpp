// As agentx-harness 1.0.12 does (aiperf/timing/trajectory_source.py; Apache-2.0).
#include "workload/agents/start_point.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/int128.hpp"
#include "core/sha256.hpp"
#include "core/time.hpp"
#include "workload/agents/conversations.hpp"
#include "workload/agents/recorded_time.hpp"

namespace ridgeline::workload::agents {
namespace {

/// The first uniform number of NumPy's default_rng(seed): SeedSequence of four words (M. E.
/// O'Neill's seed_seq), PCG64 (XSL-RR), 53 bits.
double first_uniform(std::uint64_t seed) {
  constexpr std::uint32_t kShift = 16;
  std::uint32_t hash = 0x43b0d7e5;
  const auto scramble = [&](std::uint32_t value, std::uint32_t multiplier) {
    value ^= hash;
    hash *= multiplier;
    value *= hash;
    return value ^ (value >> kShift);
  };
  std::array<std::uint32_t, 4> pool = {
      static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), 0, 0};
  for (std::uint32_t& word : pool) {
    word = scramble(word, 0x931e8875);
  }
  for (std::size_t from = 0; from < pool.size(); ++from) {
    for (std::size_t to = 0; to < pool.size(); ++to) {
      if (from != to) {
        const std::uint32_t mixed =
            0xca01f9ddU * pool[to] - 0x4973f715U * scramble(pool[from], 0x931e8875);
        pool[to] = mixed ^ (mixed >> kShift);
      }
    }
  }
  hash = 0x8b51f9dd;
  std::array<core::Uint128, 4> words = {};
  for (core::Uint128& word : words) {
    const std::size_t at = static_cast<std::size_t>(&word - words.data()) * 2;
    const std::uint64_t low = scramble(pool[at % 4], 0x58f38ded);
    const std::uint64_t high = scramble(pool[(at + 1) % 4], 0x58f38ded);
    word = (high << 32) | low;
  }
  const core::Uint128 multiplier =
      (core::Uint128{2549297995355413924ULL} << 64) | 4865540595714422341ULL;
  const core::Uint128 increment = (((words[2] << 64) | words[3]) << 1) | 1;
  core::Uint128 state = increment + ((words[0] << 64) | words[1]);
  state = state * multiplier + increment;
  state = state * multiplier + increment;
  const auto folded = static_cast<std::uint64_t>(state >> 64) ^ static_cast<std::uint64_t>(state);
  const auto turn = static_cast<unsigned>(state >> 122);
  const std::uint64_t bits = (folded >> turn) | (folded << ((64U - turn) & 63U));
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

/// The first turn that starts at or after a time; none where all have started.
std::optional<std::int32_t> next_turn(const Conversation& conversation, double time) {
  const auto next = std::ranges::find_if(
      conversation.turns, [&](const Turn& turn) { return milliseconds(turn.start) >= time; });
  return next == conversation.turns.end()
             ? std::nullopt
             : std::optional(static_cast<std::int32_t>(next - conversation.turns.begin()));
}

StreamState state_at(const SessionTree& tree,
                     std::int32_t conversation,
                     std::int32_t turn,
                     double time) {
  const Turn& next = tree.conversations[static_cast<std::size_t>(conversation)]
                         .turns[static_cast<std::size_t>(turn)];
  const double offset = std::max(milliseconds(next.start) - time, 0.0);
  return {.conversation = conversation,
          .next_turn = turn,
          .offset = core::Duration::from_seconds(offset / 1000.0).value_or(core::Duration())};
}

/// Whether a branch has begun: its time has come, or else the turn that starts it is done.
bool has_begun(const Conversation& main,
               const Branch& branch,
               std::optional<std::int32_t> main_next,
               double time) {
  const Turn& spawn = main.turns[static_cast<std::size_t>(branch.spawn_turn)];
  return time >= milliseconds(branch.start) ||
         (time >= milliseconds(spawn.start) && (!main_next || *main_next > branch.spawn_turn));
}

}  // namespace

StartPoint start_point(const SessionTree& tree,
                       std::int64_t seed,
                       std::int32_t lane,
                       double min_ratio,
                       double max_ratio) {
  const double first = milliseconds(tree.first);
  const double length = milliseconds(tree.last) - first;
  const double lowest = first + min_ratio * length;
  const double highest = std::max(first + max_ratio * length, lowest);
  StartPoint point;
  point.milliseconds = lowest;
  if (highest > lowest) {
    const core::Sha256 hash = core::sha256(fmt::format("{}:{}:{}", seed, tree.id, lane));
    point.milliseconds +=
        (highest - lowest) * first_uniform((std::uint64_t{hash[0]} << 32) | hash[1]);
  }
  for (const Conversation& conversation : tree.conversations) {
    point.done.push_back(next_turn(conversation, point.milliseconds)
                             .value_or(static_cast<std::int32_t>(conversation.turns.size())));
  }
  const Conversation& main = tree.conversations.front();
  const auto main_next = next_turn(main, point.milliseconds);
  std::vector<StreamState> children;
  bool waits = false;
  for (const Branch& branch : main.branches) {
    if (!has_begun(main, branch, main_next, point.milliseconds)) {
      continue;
    }
    for (const std::int32_t child : branch.children) {
      const auto next =
          next_turn(tree.conversations[static_cast<std::size_t>(child)], point.milliseconds);
      if (next) {
        children.push_back(state_at(tree, child, *next, point.milliseconds));
        children.back().join_turn = branch.join_turn;
        waits = waits || (main_next && branch.join_turn == main_next);
      }
    }
  }
  if (main_next) {
    point.streams.push_back(state_at(tree, 0, *main_next, point.milliseconds));
    point.streams.back().waits = waits;
    point.streams.back().join_turn = waits ? main_next : std::nullopt;
  }
  point.streams.insert(point.streams.end(), children.begin(), children.end());
  return point;
}

}  // namespace ridgeline::workload::agents
