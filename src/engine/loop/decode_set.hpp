#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/time.hpp"
#include "core/units.hpp"

namespace ridgeline::engine {

struct Sequence;

/// A request as a member of a DecodeSet.
struct Decoding {
  bool is_member = false;
  std::int64_t base = 0;    ///< It has base + m tokens computed before step m.
  std::int64_t joined = 0;  ///< The first step that has it as a member.
  std::int64_t until = 0;   ///< It leaves before this step ends.
  std::int64_t due = -1;    ///< In which step it has something to do (StepCalendar); -1: in none.
  std::int64_t settled_formed = 0;  ///< Steps formed and ended that its counters know of: those
  std::int64_t settled_ended = 0;   ///< before these.
};

/// Requests that decode, kept as sums. A member is in every step that is formed, with one token
/// that it samples and no drafts; so that a step is a count and a context, whatever the number of
/// requests, and rounds of such steps need no look at any of them. A request joins when nothing but
/// tokens is to come of it, and leaves before something is: its end, or that the scheduler has no
/// block or no token for it. In between, its counters stand still; settle() says by how much they
/// are behind.
///
/// Steps are numbered in the order of forming, which is that of ending; one that leaves the members
/// out has no number. A request joins as it is in a step with all members, or as there are none:
/// all have their tokens at the same instants. The step loop moves the clock; the scheduler adds
/// and removes. A scheduler that gathers none steps each request by itself, with the same results.
class DecodeSet {
 public:
  /// Steps that a member was in since it was settled last.
  struct Progress {
    std::int64_t formed = 0;
    std::int64_t ended = 0;
  };
  /// Members in a step, and the tokens that they had computed before it.
  struct InStep {
    std::int64_t count = 0;
    core::Tokens context;
    std::int64_t number = -1;  ///< The step's; -1: it has none.
  };
  /// A request that has left, and the steps that it was in as a member.
  struct Leaver {
    Sequence* sequence = nullptr;
    std::int64_t base = 0;
    std::int64_t joined = 0;
    std::int64_t place = 0;  ///< Sequence::place as it left.
  };

  /// Whether requests may join.
  void gather(bool gathers) { gathers_ = gathers; }
  [[nodiscard]] bool gathers() const { return gathers_; }

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// Tokens that the members have computed before the next step.
  [[nodiscard]] core::Tokens context() const {
    return core::Tokens(base_sum_ + count_ * next_step_);
  }
  /// The step that is being formed has all members; said before others join.
  void put_in_step() { in_step_ = {.count = count_, .context = context(), .number = next_step_}; }
  /// Or none of them.
  void leave_out_of_step() {
    in_step_ = {.count = 0, .context = {}, .number = count_ == 0 ? next_step_ : -1};
  }
  /// What the step formed last has of them.
  [[nodiscard]] const InStep& in_step() const { return in_step_; }
  /// The number of the next step that is formed, and of the oldest that has not ended.
  [[nodiscard]] std::int64_t next_step() const { return next_step_; }
  [[nodiscard]] std::int64_t oldest_step() const { return oldest_step_; }
  /// When the newest step that has ended did: every member had a token then.
  [[nodiscard]] core::SimTime last_end() const { return last_end_; }

  /// A step was formed; the oldest has ended.
  void form() { next_step_ += in_step_.number >= 0 ? 1 : 0; }
  void end(const InStep& step, core::SimTime at) {
    if (step.number >= 0) {
      oldest_step_ = step.number + 1;
      last_end_ = at;
    }
  }
  /// In a jump: to the forming of a later step, after the end of one that is later as well.
  void go_to(std::int64_t next_step, std::int64_t oldest_step) {
    next_step_ = next_step;
    oldest_step_ = oldest_step;
  }
  void set_last_end(core::SimTime at) { last_end_ = at; }

  /// A request that has so many tokens computed before step `first` is in it and all that follow,
  /// and leaves before step `until` ends.
  void add(Sequence& sequence, std::int64_t computed, std::int64_t first, std::int64_t until);
  /// Steps since the last call; the loop's own counters know of them from now on.
  Progress settle(Sequence& sequence);
  /// It is a member no more. It has been settled.
  void remove(Sequence& sequence);
  /// How many more steps end before a member leaves. There is one.
  [[nodiscard]] std::int64_t steps_left() const { return by_until_.back().first - oldest_step_; }
  /// A member that leaves before the oldest step ends, or nullptr.
  [[nodiscard]] Sequence* due_to_leave() const {
    return count_ > 0 && steps_left() <= 0 ? by_until_.back().second : nullptr;
  }
  /// Those that have left since the last call.
  [[nodiscard]] std::vector<Leaver> take_leavers() { return std::exchange(leavers_, {}); }
  [[nodiscard]] bool has_leavers() const { return !leavers_.empty(); }

 private:
  using Entry = std::pair<std::int64_t, Sequence*>;

  bool gathers_ = false;
  std::int64_t count_ = 0;
  std::int64_t base_sum_ = 0;
  std::int64_t next_step_ = 0;
  std::int64_t oldest_step_ = 0;
  core::SimTime last_end_;
  InStep in_step_;
  std::vector<Entry> by_until_;  ///< Members by when they leave, the first at the end.
  std::vector<Leaver> leavers_;
};

/// In which steps members begin a block, as counts: those in which what they have computed is a
/// whole number of blocks.
class BlockPhases {
 public:
  explicit BlockPhases(std::int64_t block_size) : begin_(static_cast<std::size_t>(block_size)) {}

  void add(std::int64_t base) { ++begin_[place(-base)]; }
  void remove(std::int64_t base) { --begin_[place(-base)]; }
  /// Members that begin a block in a step.
  [[nodiscard]] std::int64_t in(std::int64_t step) const { return begin_[place(step)]; }

 private:
  [[nodiscard]] std::size_t place(std::int64_t step) const {
    const auto size = static_cast<std::int64_t>(begin_.size());
    return static_cast<std::size_t>((step % size + size) % size);
  }

  std::vector<std::int64_t> begin_;  ///< By step, modulo the block size.
};

/// Which members have something to do in which step: a block to take, say.
class StepCalendar {
 public:
  void add(Sequence& sequence, std::int64_t step);
  void remove(Sequence& sequence);
  /// The first step from `from` on, less than `end`, that may have someone; `end` where none has.
  [[nodiscard]] std::int64_t next(std::int64_t from, std::int64_t end) const;
  /// Takes out those of a step, in the order of their places, put behind what is in `to`.
  void take(std::int64_t step, std::vector<Sequence*>& to);
  /// How many a step has, or more.
  [[nodiscard]] std::int64_t most_in(std::int64_t step) const {
    return static_cast<std::int64_t>(buckets_[bucket_of(step)].size());
  }

 private:
  static constexpr std::size_t kBuckets = 64;
  [[nodiscard]] static std::size_t bucket_of(std::int64_t step) {
    return static_cast<std::size_t>(step) % kBuckets;
  }

  std::array<std::vector<Sequence*>, kBuckets> buckets_;  ///< By step; of later rounds as well.
  std::uint64_t filled_ = 0;                              ///< Buckets that are not empty.
};

}  // namespace ridgeline::engine
