#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/units.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"

namespace ridgeline::engine {

/// In how many steps in flight a request that decodes can be: its next token may be scheduled
/// before the last is known where scheduling is asynchronous.
[[nodiscard]] inline std::int64_t steps_per_request(const EngineOptions& options) {
  return options.async_scheduling ? steps_in_flight(options) : 1;
}

/// What schedulers have in common: a queue of waiting requests, a list of running ones, and how a
/// request leaves. A policy says what it keeps of a request (`Request`, derived from Sequence), how
/// a step is formed and what a request's tokens mean.
template <class Request>
class QueueScheduler : public StepScheduler {
 public:
  using RequestPtr = std::shared_ptr<Request>;

  SequencePtr abort(core::RequestId id) override {
    for (const RequestPtr& request : all(waiting(), running_)) {
      if (request->record.id == id) {
        drop(request);
        return request;
      }
    }
    return nullptr;
  }
  std::vector<SequencePtr> update(const ScheduledStep& step,
                                  std::span<const std::int64_t> tokens) override {
    std::vector<SequencePtr> ended;
    for (std::size_t i = 0; i < step.size(); ++i) {
      auto& request = static_cast<Request&>(*step[i].sequence);
      if (take_tokens(request, step[i], tokens[i])) {
        ended.push_back(remove(request));
      }
    }
    return ended;
  }
  std::vector<SequencePtr> drain() override {
    const std::vector<RequestPtr> inside = all(running_, waiting());
    for (const RequestPtr& request : inside) {
      remove(*request);
    }
    return {inside.begin(), inside.end()};
  }
  [[nodiscard]] SchedulerCounts counts() const override {
    return {.running = num_running(), .waiting = std::ssize(waiting_)};
  }
  [[nodiscard]] core::Tokens queued_prompt_tokens() const override {
    core::Tokens sum;
    for (const RequestPtr& request : waiting()) {
      sum += core::Tokens(request->num_prompt_tokens);
    }
    return sum;
  }

  [[nodiscard]] const std::vector<RequestPtr>& running() const { return running_; }
  [[nodiscard]] std::int64_t num_running() const { return std::ssize(running_); }
  /// All waiting requests, in order.
  [[nodiscard]] virtual std::vector<RequestPtr> waiting() const {
    return {waiting_.begin(), waiting_.end()};
  }

 protected:
  using Queue = std::deque<RequestPtr>;

  /// A step has ended: what came out for a request, which may have left since; looked at where
  /// `part.samples`. True where the request ends with it.
  virtual bool take_tokens(Request& request,
                           const ScheduledSequence& part,
                           std::int64_t tokens) = 0;
  /// The client of a request gives up.
  virtual void drop(const RequestPtr& request) { remove(*request); }
  /// Takes a request out of the list that it is in, with what it holds.
  virtual RequestPtr remove(Request& request) {
    RequestPtr removed = take_out(running_, request);
    return removed != nullptr ? removed : take_out(waiting_, request);
  }

  /// Takes a request out of a list; nullptr where it is not in there.
  template <class List>
  static RequestPtr take_out(List& list, const Request& request) {
    const auto place = std::ranges::find(list, &request, &RequestPtr::get);
    if (place == list.end()) {
      return nullptr;
    }
    RequestPtr taken = *place;
    list.erase(place);
    return taken;
  }

  Queue waiting_;
  std::vector<RequestPtr> running_;  ///< In the order of their admission.

 private:
  [[nodiscard]] static std::vector<RequestPtr> all(std::vector<RequestPtr> first,
                                                   const std::vector<RequestPtr>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }
};

}  // namespace ridgeline::engine
