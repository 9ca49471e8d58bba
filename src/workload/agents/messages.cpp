// As agentx-harness 1.0.12 does (aiperf/dataset/loader/weka_synth_buf.py; Apache-2.0).
#include "workload/agents/messages.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "workload/agents/chains.hpp"
#include "workload/agents/conversations.hpp"
#include "workload/agents/trace.hpp"

namespace ridgeline::workload::agents {
namespace {

constexpr std::int64_t kNoCap = std::numeric_limits<std::int64_t>::max();

/// A message, and how many full blocks of it have ids.
struct Part {
  Message message;
  std::int64_t blocks = 0;
};

/// What a turn adds to what it keeps of the prompt before.
struct Growth {
  std::int64_t kept = 0;    ///< Leading blocks in common.
  std::int64_t named = 0;   ///< Full blocks with an id.
  std::int64_t blocks = 0;  ///< New ones of those.
  std::int64_t tail = 0;    ///< Tokens without.
};

Growth growth_of(const Blocks& before, const TraceRequest& request, std::int64_t block_size) {
  const auto ids = static_cast<std::int64_t>(request.blocks.size());
  const std::int64_t full = request.input / block_size;
  Growth growth;
  growth.kept = static_cast<std::int64_t>(common_blocks(before, request.blocks));
  growth.named = std::min(ids, full);
  growth.blocks = std::max<std::int64_t>(growth.named - growth.kept, 0);
  growth.tail = request.input % block_size + (full - growth.named) * block_size;
  return growth;
}

/// The most blocks of the answer before each turn, so that a later turn that adds nothing ends
/// with a message of the user.
std::vector<std::int64_t> answer_caps(const std::vector<Placed>& requests,
                                      std::int64_t block_size) {
  std::vector<std::int64_t> caps(requests.size(), kNoCap);
  std::vector<std::int64_t> kept(requests.size(), 0);
  std::vector<std::size_t> owners;  // The turn that added each block.
  for (std::size_t k = 0; k < requests.size(); ++k) {
    const TraceRequest& request = *requests[k].request;
    const Growth growth =
        growth_of(k == 0 ? Blocks() : requests[k - 1].request->blocks, request, block_size);
    kept[k] = std::min(growth.kept, static_cast<std::int64_t>(owners.size()));
    const std::int64_t added = std::max<std::int64_t>(growth.named - kept[k], 0);
    if (k > 0 && added == 0 && growth.tail == 0 && kept[k] > 0) {
      const std::size_t owner = owners[static_cast<std::size_t>(kept[k] - 1)];
      const std::int64_t cap = kept[k] - 1 - kept[owner];
      if (owner != 0 && cap >= 0) {
        caps[owner] = std::min(caps[owner], cap);
      }
    }
    owners.resize(static_cast<std::size_t>(kept[k]));
    owners.insert(owners.end(), static_cast<std::size_t>(added), k);
  }
  return caps;
}

class Chat {
 public:
  Chat(std::int64_t block_size, std::int64_t prefix_blocks)
      : block_size_(block_size), prefix_blocks_(prefix_blocks) {}

  void start(const TraceRequest& request) {
    const Growth growth = growth_of({}, request, block_size_);
    const std::int64_t prefix = std::min(prefix_blocks_, growth.blocks);
    if (prefix > 0) {
      add(Message::Role::kSystem, prefix, 0);
    }
    if (parts_.empty() || growth.blocks > prefix || growth.tail > 0) {
      add(Message::Role::kUser, growth.blocks - prefix, growth.tail);
    }
  }

  void go_on(const TraceRequest& before, const TraceRequest& request, std::int64_t cap) {
    const Growth growth = growth_of(before.blocks, request, block_size_);
    cut(growth.kept);
    const bool has_user = std::ranges::any_of(
        parts_, [](const Part& part) { return part.message.role == Message::Role::kUser; });
    std::int64_t answer =
        has_user ? std::min((before.output + block_size_ - 1) / block_size_, growth.blocks) : 0;
    answer = std::min(answer, cap);
    if (growth.tail == 0 && answer == growth.blocks && answer > 0) {
      --answer;  // A chat ends with the user.
    }
    if (answer > 0) {
      add(Message::Role::kAssistant, answer, 0);
    }
    if (growth.blocks > answer || growth.tail > 0) {
      add(Message::Role::kUser, growth.blocks - answer, growth.tail);
    }
  }

  /// What is sent of it.
  TurnMessages send() {
    TurnMessages turn;
    const bool is_disturbed = disturbed_ && *disturbed_ < sent_;
    const bool is_unchanged = sent_ > 0 && sent_ == parts_.size();
    turn.is_reset = is_disturbed || is_unchanged;
    for (std::size_t i = turn.is_reset ? 0 : sent_; i < parts_.size(); ++i) {
      turn.messages.push_back(parts_[i].message);
    }
    sent_ = parts_.size();
    disturbed_.reset();
    return turn;
  }

 private:
  void add(Message::Role role, std::int64_t blocks, std::int64_t tail) {
    parts_.push_back(
        {.message = {.role = role, .tokens = blocks * block_size_ + tail}, .blocks = blocks});
  }

  /// Leaves the first `blocks` blocks, and notes the first message that changed.
  void cut(std::int64_t blocks) {
    if (blocks <= 0) {
      disturbed_ = parts_.empty() ? disturbed_ : 0;
      parts_.clear();
      return;
    }
    std::int64_t before = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      Part& part = parts_[i];
      if (before + part.blocks < blocks) {
        before += part.blocks;
        continue;
      }
      const bool is_whole = before + part.blocks == blocks;
      const bool has_tail = part.message.tokens > part.blocks * block_size_;
      const bool has_more = i + 1 < parts_.size();
      if (!is_whole && before == blocks) {
        parts_.resize(i);
        disturbed_ = i;
        return;
      }
      part.blocks = blocks - before;
      part.message.tokens = std::min(part.message.tokens, part.blocks * block_size_);
      parts_.resize(i + 1);
      if (!is_whole || has_tail) {
        disturbed_ = i;
      } else if (has_more) {
        disturbed_ = i + 1;
      }
      return;
    }
  }

  std::int64_t block_size_;
  std::int64_t prefix_blocks_;
  std::vector<Part> parts_;
  std::size_t sent_ = 0;
  std::optional<std::size_t> disturbed_;
};

}  // namespace

std::vector<TurnMessages> messages_of(const std::vector<Placed>& requests,
                                      std::int64_t block_size,
                                      std::int64_t prefix_blocks) {
  const std::vector<std::int64_t> caps = answer_caps(requests, block_size);
  Chat chat(block_size, prefix_blocks);
  std::vector<TurnMessages> turns;
  for (std::size_t k = 0; k < requests.size(); ++k) {
    if (k == 0) {
      chat.start(*requests[0].request);
    } else {
      chat.go_on(*requests[k - 1].request, *requests[k].request, caps[k]);
    }
    turns.push_back(chat.send());
  }
  return turns;
}

}  // namespace ridgeline::workload::agents
