#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/loop/decode_set.hpp"
#include "engine/loop/step_scheduler.hpp"

namespace ridgeline::engine {

/// The turns of members whose blocks change, in a step that is formed with other requests and in
/// rounds of members alone. `extend(member)` gives it its blocks and says when its next turn is.
class MemberTurns {
 public:
  /// A member has its turn in a step.
  void add(Sequence& member, std::int64_t step) { calendar_.add(member, step); }
  void remove(Sequence& member) {
    if (member.decoding.due >= 0) {
      calendar_.remove(member);
    }
  }
  /// A step is being formed: those whose turn it is wait for take_before().
  void begin(std::int64_t step) {
    due_.clear();
    num_done_ = 0;
    calendar_.take(step, due_);
  }
  /// How many of a step have their turn, at most.
  [[nodiscard]] std::int64_t most_in(std::int64_t step) const { return calendar_.most_in(step); }
  /// Those that stand before a place have their turn now.
  template <class Extend>
  void take_before(std::int64_t place, const Extend& extend) {
    for (; num_done_ < due_.size() && due_[num_done_]->place < place; ++num_done_) {
      extend(*due_[num_done_]);
    }
  }
  /// So many rounds of members alone. `used_blocks()`: blocks in use after a round.
  template <class Extend, class UsedBlocks>
  std::vector<BlockChange> take_rounds(DecodeSet& members,
                                       std::int64_t rounds,
                                       const Extend& extend,
                                       const UsedBlocks& used_blocks) {
    std::vector<BlockChange> changes;
    changes.reserve(static_cast<std::size_t>(std::min(rounds, members.count())));
    const std::int64_t begin = members.next_step();
    const std::int64_t oldest = members.oldest_step();
    const std::int64_t end = begin + rounds;
    for (std::int64_t step = calendar_.next(begin, end); step < end;
         step = calendar_.next(step + 1, end)) {
      due_.clear();
      calendar_.take(step, due_);
      if (due_.empty()) {
        continue;
      }
      members.go_to(step, oldest + step - begin + 1);
      for (Sequence* const member : due_) {
        extend(*member);
      }
      changes.push_back({.step = step - begin, .used_blocks = used_blocks()});
    }
    members.go_to(end, oldest + rounds);
    return changes;
  }

 private:
  StepCalendar calendar_;
  std::vector<Sequence*> due_;  ///< Members with a turn in the step ...
  std::size_t num_done_ = 0;    ///< ... and how many of them have had it.
};

}  // namespace ridgeline::engine
