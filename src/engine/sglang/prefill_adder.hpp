#pragma once

#include <cstdint>
#include <vector>

#include "engine/sglang/request.hpp"
#include "engine/sglang/scheduler.hpp"

namespace ridgeline::engine::sglang {

/// Which requests a prefill step takes, and how much of each (schedule_policy.py: PrefillAdder):
/// against the tokens of the pool, those of the step, and those of a chunk.
class PrefillAdder {
 public:
  enum class Verdict : std::uint8_t {
    kContinue,
    kNoToken,  ///< The pool is promised away.
    kOther,    ///< The step is full.
  };

  /// `mixed`: running requests that join the step with a token each.
  PrefillAdder(Scheduler& scheduler, std::int64_t mixed);

  /// The request in mid-prompt goes on. Returns whether it still does not end; a request for which
  /// there is no room at all is left out.
  bool add_chunked(const RequestPtr& request);
  /// A waiting request, whose prefix is matched.
  Verdict add(const RequestPtr& request);
  /// Takes running requests of worse priority back in favour of a waiting one; false where that
  /// does not help.
  bool preempt_for(const Sequence& request);

  /// Another request would have no part of the step.
  [[nodiscard]] bool is_full() const;
  [[nodiscard]] const RequestList& admitted() const { return admitted_; }
  [[nodiscard]] const RequestPtr& new_chunked() const { return new_chunked_; }
  [[nodiscard]] const RequestList& preempted() const { return preempted_; }

 private:
  /// What a request still needs and holds, for requests that ignore the end of sequence.
  struct Need {
    double left = 0;
    std::int64_t occupied = 0;
  };

  [[nodiscard]] std::int64_t available() const;
  [[nodiscard]] double rem_total() const {
    return static_cast<double>(available()) - total_offset_;
  }
  [[nodiscard]] double cur_rem() const {
    return static_cast<double>(available() - current_offset_);
  }
  [[nodiscard]] std::int64_t ceil_page(std::int64_t tokens) const;
  [[nodiscard]] std::int64_t clipped(std::int64_t tokens) const;
  [[nodiscard]] double promised(const Sequence& running) const;
  [[nodiscard]] Verdict budget() const;
  void spend(std::int64_t tokens, std::int64_t outputs);
  Verdict add_ignoring_eos(const RequestPtr& request);
  void note_need(const Sequence& request, bool sorted);
  [[nodiscard]] bool needs_fit(std::int64_t tokens) const;
  [[nodiscard]] bool cuts(std::int64_t tokens) const { return has_chunks_ && tokens > rem_chunk_; }
  void take_chunk(const RequestPtr& request, std::int64_t tokens);
  [[nodiscard]] RequestList candidates(const Sequence& request, double missing) const;

  Scheduler& scheduler_;
  const Options& options_;
  std::int64_t rem_input_;
  std::int64_t rem_chunk_;
  bool has_chunks_;
  double total_offset_;  ///< Promised to running requests and to those of this pass.
  std::int64_t current_offset_;
  RequestList admitted_;
  RequestPtr new_chunked_;
  RequestList preempted_;
  std::vector<Need> needs_;
  bool has_needs_ = false;
};

}  // namespace ridgeline::engine::sglang
