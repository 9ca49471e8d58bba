#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/prompt.hpp"
#include "domain/request.hpp"
#include "workload/agents/conversations.hpp"
#include "workload/agents/options.hpp"
#include "workload/agents/replay.hpp"
#include "workload/source.hpp"

namespace ridgeline::workload::agents {

/// Tokens of the text that tells plays apart (kMarkerCharacters): 10 to 15 by tokenizer.
inline constexpr std::int64_t kMarkerTokens = 13;

/// The traces of a file that are played: JSON lines, one JSON object, or a folder of *.json files
/// in order of their names. Fails with the problems of each, and where none is left.
[[nodiscard]] core::Result<std::vector<SessionTree>> read_trees(const std::string& path,
                                                                const Selection& selection);

/// Agent traces, replayed as agentx-harness does. A prompt is its named blocks behind a marker of
/// its play, and a tail that nothing shares.
class AgentSource final : public Source {
 public:
  AgentSource(std::vector<SessionTree> trees, const ReplayOptions& options);

  [[nodiscard]] std::optional<core::SimTime> next_arrival() override;
  domain::Request pop() override;
  [[nodiscard]] bool is_closed_loop() const override { return true; }
  void on_completion(core::RequestId id, core::SimTime time) override;
  [[nodiscard]] bool names_prompts() const override { return true; }
  [[nodiscard]] const core::SimTime* measured_from() const override { return &measured_from_; }

  [[nodiscard]] const Replay& replay() const { return replay_; }
  [[nodiscard]] const std::vector<SessionTree>& trees() const { return trees_; }
  /// The requests sent so far, by number.
  [[nodiscard]] const std::vector<Sent>& sent() const { return sent_; }
  [[nodiscard]] const Turn& turn_of(const Sent& sent) const {
    return trees_[static_cast<std::size_t>(sent.tree)]
        .conversations[static_cast<std::size_t>(sent.turn.conversation)]
        .turns[static_cast<std::size_t>(sent.turn.turn)];
  }

 private:
  /// The prompts of a session share what they have in common.
  struct Talk {
    std::shared_ptr<domain::History> history;
    std::vector<domain::Segment> parts;
  };
  [[nodiscard]] std::vector<domain::Segment> parts_of(const Sent& sent) const;
  [[nodiscard]] domain::Prompt prompt_of(const Sent& sent);

  std::vector<SessionTree> trees_;
  Replay replay_;
  std::vector<Sent> sent_;
  std::unordered_map<std::uint32_t, Talk> talks_;     ///< By session.
  std::optional<std::optional<core::SimTime>> next_;  ///< Known until something happens.
  core::SimTime measured_from_ = core::SimTime::never();
};

}  // namespace ridgeline::workload::agents
