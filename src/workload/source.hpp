#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/statistics/queue_growth.hpp"
#include "core/time.hpp"
#include "domain/label_set.hpp"
#include "domain/request.hpp"
#include "workload/carried.hpp"
#include "workload/item.hpp"

namespace ridgeline::workload {

/// How codes of warnings begin that tell of differences from inference-sim (BLIS).
inline constexpr std::string_view kBlisWarning = "W-blis-";

/// A stream of requests in order of arrival, pulled one by one: memory follows the requests in
/// flight, not the workload. Ids count from 0 in that order.
class Source {
 public:
  virtual ~Source() = default;

  /// When the next request arrives; nothing when the stream has ended, or (closed loops) until a
  /// completion is reported. Never before an arrival already popped.
  [[nodiscard]] virtual std::optional<core::SimTime> next_arrival() = 0;

  /// Takes the next request. Requires next_arrival() to have a value.
  virtual domain::Request pop() = 0;
  /// pop() into `request`, whatever that held.
  virtual void pop_into(domain::Request& request) { request = pop(); }

  /// Whether on_completion can bring arrivals forward: the engine must then report each completion
  /// before it goes on.
  [[nodiscard]] virtual bool is_closed_loop() const { return false; }

  /// The client has the whole answer to `id` (or its refusal) at `time`. Called in order of time.
  virtual void on_completion(core::RequestId id, core::SimTime time) {
    static_cast<void>(id);
    static_cast<void>(time);
  }

  /// Problems met while reading lazily (a bad row); checked when the stream ends.
  [[nodiscard]] virtual const core::Errors& errors() const {
    static const core::Errors kNone;
    return kNone;
  }

  /// What the reader of the result should know of the workload; whole when the stream has ended.
  [[nodiscard]] virtual core::Warnings warnings() const { return {}; }

  /// The label sets that requests name by number; null where none has a label.
  [[nodiscard]] virtual const domain::LabelSets* label_sets() const { return nullptr; }
  /// The texts that label sets name by number.
  [[nodiscard]] virtual const Labels& labels() const {
    static const Labels kNone;
    return kNone;
  }
  /// What the requests popped so far carry.
  [[nodiscard]] virtual Carried carried() const { return {}; }
  /// The queue of requests that a limit of concurrency holds back at the client; null: none are.
  [[nodiscard]] virtual const statistics::QueueGrowth* held_back() const { return nullptr; }
  /// Whether a prompt popped so far says what it holds, so that others can share it.
  [[nodiscard]] virtual bool names_prompts() const { return false; }
  /// Whether a prompt may hold answers to earlier requests (domain::output_content).
  [[nodiscard]] virtual bool prompts_hold_answers() const { return false; }

  /// Whether some client may cancel a request (domain::Request::gives_up).
  [[nodiscard]] virtual bool may_give_up() const { return false; }

  /// Where a client warms the server up until a time that only the run says: that time, never()
  /// until it is known. Requests sent before it are not measured. Null: no such client.
  [[nodiscard]] virtual const core::SimTime* measured_from() const { return nullptr; }

  /// Requests read so far that belong to other data-parallel ranks.
  [[nodiscard]] virtual std::int64_t of_other_ranks() const { return 0; }

  /// How many requests there will be in all, when known (for progress).
  [[nodiscard]] virtual std::optional<std::int64_t> size() const { return std::nullopt; }
};

}  // namespace ridgeline::workload
