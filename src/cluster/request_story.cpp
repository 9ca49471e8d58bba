#include "cluster/request_story.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"

namespace ridgeline::cluster {
namespace {

using core::SimTime;

/// The attempt at that instance that has not ended; null where there is none.
Attempt* open_at(std::vector<Attempt>& attempts, core::InstanceId instance) {
  const auto found = std::ranges::find_if(attempts, [&](const Attempt& one) {
    return one.instance == instance && one.end == SimTime::never();
  });
  return found == attempts.end() ? nullptr : &*found;
}

/// A request of two legs waits from the delivery of the earlier one for its prompt to be computed.
TtftParts parts_in_legs(const Attempt& prefill,
                        const Attempt& decode,
                        SimTime arrival,
                        SimTime first) {
  const SimTime delivered = std::min(prefill.delivered, decode.delivered);
  TtftParts parts{.gateway = delivered - arrival,
                  .queue = prefill.first_scheduled - delivered,
                  .prefill = prefill.first_token - prefill.first_scheduled,
                  .transfer = {}};
  if (first > prefill.first_token) {  // Otherwise the prefill's token is the
                                      // client's first.
    const SimTime loaded = decode.loaded == SimTime::never() ? decode.delivered : decode.loaded;
    parts.transfer = loaded - prefill.first_token;
    parts.prefill += first - loaded;
  }
  return parts;
}

std::optional<TtftParts> parts_of(const std::vector<Attempt>& attempts,
                                  const domain::RequestRecord& record) {
  const SimTime first = record.first_token;
  if (first == SimTime::never() || attempts.empty()) {
    return std::nullopt;
  }
  const Attempt& last = attempts.back();
  if (attempts.size() > 1) {
    const Attempt& other = attempts[attempts.size() - 2];
    if (last.share == Share::kDecode && other.share == Share::kPrefill) {
      return parts_in_legs(other, last, record.arrival, first);
    }
    if (last.share == Share::kPrefill && other.share == Share::kDecode) {
      return parts_in_legs(last, other, record.arrival, first);  // KV is pushed.
    }
  }
  return TtftParts{.gateway = last.delivered - record.arrival,
                   .queue = last.first_scheduled - last.delivered,
                   .prefill = first - last.first_scheduled,
                   .transfer = {}};
}

}  // namespace

void Stories::on_sent(
    core::RequestId id, core::InstanceId instance, Share share, SimTime sent, SimTime delivered) {
  Attempt& attempt = under_way_[id].emplace_back();
  attempt.instance = instance;
  attempt.share = share;
  attempt.sent = sent;
  attempt.delivered = delivered;
}

void Stories::on_loaded(core::RequestId id, core::InstanceId instance, SimTime at) {
  if (Attempt* const attempt = open_at(under_way_[id], instance); attempt != nullptr) {
    attempt->loaded = at;
  }
}

void Stories::on_leg_end(const domain::RequestRecord& record, SimTime end) {
  Attempt* const attempt = open_at(under_way_[record.id], record.instance);
  RIDGELINE_CHECK(attempt != nullptr, "a request ends where it was sent");
  attempt->first_scheduled = record.first_scheduled;
  attempt->first_token = record.first_token;
  attempt->tokens = record.output_tokens;
  attempt->end = end;
  attempt->why = record.outcome;
}

void Stories::on_end(const domain::RequestRecord& record, SimTime end) {
  RequestStory story{.id = record.id, .attempts = std::move(under_way_[record.id]), .ttft = {}};
  under_way_.erase(record.id);
  for (Attempt& attempt : story.attempts) {
    if (attempt.end == SimTime::never()) {  // On its way.
      attempt.end = end;
      attempt.why = record.outcome;
    }
  }
  story.ttft = parts_of(story.attempts, record);
  if (story.ttft) {
    const TtftParts& parts = *story.ttft;
    RIDGELINE_CHECK(parts.sum() == record.first_token - record.arrival,
                    "the parts of a request's TTFT sum to it");
    RIDGELINE_CHECK(
        std::min({parts.gateway, parts.queue, parts.prefill, parts.transfer}) >= core::Duration(),
        "the parts of a request's TTFT follow each other");
  }
  sink_.on_story(story);
}

}  // namespace ridgeline::cluster
