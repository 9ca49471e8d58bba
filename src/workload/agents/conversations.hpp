#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "workload/agents/prompt_tree.hpp"
#include "workload/agents/trace.hpp"

namespace ridgeline::workload::agents {

/// Which list of a trace a turn comes from: the main agent's, a sub-agent's, or a chain recorded
/// between the main agent's requests.
enum class TurnKind : std::uint8_t { kMain, kSubAgent, kFlat };

/// A turn of another conversation of the same tree.
struct TurnRef {
  std::int32_t conversation = 0;
  std::int32_t turn = 0;

  friend bool operator==(const TurnRef&, const TurnRef&) = default;
};

struct Turn {
  core::Duration start;  ///< As recorded, from the start of the trace.
  std::optional<core::Duration> delay =
      {};  ///< From the end of the turn before; none for the first.
  std::optional<core::Duration> api_time = {};
  std::int64_t max_tokens = 0;
  std::int64_t input = 0;
  std::int32_t model = 0;
  InputKind input_kind = InputKind::kUnknown;
  PromptEnd prompt = {};  ///< Its named blocks; what is left of `input` is shared with nothing.
  std::int64_t hash_blocks = 0;  ///< How many the trace names.
  std::int64_t hit_blocks = 0;   ///< What of them a cache that evicts nothing holds already.
  std::vector<std::int32_t> spawns = {};   ///< Branches of the conversation that it starts.
  std::vector<std::int32_t> joins = {};    ///< Branches that must have ended before it.
  std::vector<TurnRef> predecessors = {};  ///< Turns that must have ended before it.
};

/// Conversations that a turn starts together and that one later turn waits for.
struct Branch {
  std::string name;
  std::vector<std::int32_t> children;
  core::Duration start;
  std::int32_t spawn_turn = 0;
  std::optional<std::int32_t> join_turn;  ///< None: nothing waits for it.
};

/// Turns that are sent one after another.
struct Conversation {
  std::string id;
  std::string scope;  ///< Conversations whose turns keep their recorded order have it in common.
  TurnKind kind = TurnKind::kMain;
  std::int64_t prefix_blocks = 0;  ///< Its first prompt's system message.
  std::vector<Turn> turns = {};
  std::vector<Branch> branches = {};  ///< The main conversation has them alone.
  std::int32_t branch = -1;           ///< That it belongs to, of the main conversation.

  [[nodiscard]] int depth() const { return kind == TurnKind::kMain ? 0 : 1; }
};

/// A message of a chat.
struct Message {
  enum class Role : std::uint8_t { kSystem, kUser, kAssistant };
  Role role = Role::kUser;
  std::int64_t tokens = 0;

  friend bool operator==(const Message&, const Message&) = default;
};

/// What a turn says: new messages, or the whole chat anew.
struct TurnMessages {
  bool is_reset = false;
  std::vector<Message> messages;
};

/// One trace: the main conversation (first), and those of its sub-agents and flat chains.
struct SessionTree {
  std::string id;
  std::int64_t block_size = 0;
  std::vector<std::string> models;
  std::vector<Conversation> conversations;
  PromptTree prompts;
  core::Duration first;  ///< Start of the earliest turn, and of the latest.
  core::Duration last;
};

/// What conversations a trace is made of. With `messages`, those of each turn, by conversation.
/// Fails where two sub-agents have one name, and where a declared prefix has no blocks.
[[nodiscard]] core::Result<SessionTree> conversations_of(
    const Trace& trace, std::vector<std::vector<TurnMessages>>* messages = nullptr);

}  // namespace ridgeline::workload::agents
