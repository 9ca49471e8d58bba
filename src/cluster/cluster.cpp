#include "cluster/cluster.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "cluster/gateway.hpp"
#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/token_sink.hpp"
#include "engine/instance.hpp"
#include "engine/server.hpp"
#include "routing/router.hpp"

namespace ridgeline::cluster {
namespace {

using core::SimTime;
using engine::Pause;

/// The shortest time: an advance to an instant and this goes through that instant.
constexpr core::Duration kTick = core::Duration::ticks(1);

bool ends_the_call(Pause pause) {
  return pause != Pause::kLimit && pause != Pause::kIdle;
}

routing::Gauges gauges_of(const engine::InstanceState& state) {
  const auto used = static_cast<double>(state.used_blocks.value());
  const auto all = static_cast<double>((state.used_blocks + state.free_blocks).value());
  return {
      .waiting = state.waiting, .running = state.running, .kv_usage = all > 0.0 ? used / all : 0.0};
}

}  // namespace

Cluster::Cluster(ClusterInputs inputs)
    : sink_(inputs.instance.engine.sink),
      tokens_(inputs.instance.engine.tokens),
      eager_(inputs.eager),
      gateway_(std::move(inputs.router), inputs.num_instances, inputs.times, inputs.seed) {
  const bool watches_tokens = tokens_ != nullptr || gateway_.needs().first_token;
  for (const routing::InstanceView& view : gateway_.views()) {
    instances_.push_back(std::make_unique<engine::Instance>(
        engine::InstanceInputs{.engine = {.options = inputs.instance.engine.options,
                                          .model = inputs.instance.engine.model,
                                          .host = inputs.instance.engine.host,
                                          .sink = *this,
                                          .horizon = inputs.instance.engine.horizon,
                                          .tokens = watches_tokens ? this : nullptr},
                               .path = inputs.instance.path,
                               .id = view.id,
                               .core = inputs.instance.core,
                               .jump = inputs.instance.jump}));
  }
}

void Cluster::submit(const domain::Request& request) {
  RIDGELINE_CHECK(arrivals_.empty() || arrivals_.back().arrival <= request.arrival,
                  "requests are submitted in order of arrival");
  arrivals_.push_back(request);
}

void Cluster::abort(core::RequestId id, SimTime at) {
  const auto waiting = std::ranges::find(arrivals_, id, &domain::Request::id);
  if (waiting != arrivals_.end()) {
    const domain::Request gone = std::move(*waiting);
    arrivals_.erase(waiting);
    report_unserved(gone, domain::Outcome::kAborted, at);
  } else if (const auto sent = sent_.find(id.value()); sent != sent_.end()) {
    aborted_at_ = at;
    instances_[sent->second.counted.instance.value()]->abort(id, at);
  }
}

Pause Cluster::advance(SimTime limit, bool pause_at_completion, std::int64_t max_segments) {
  while (true) {
    const SimTime arrival = next_arrival();
    const SimTime goal = std::min(limit, arrival);
    if (const Pause pause = run_to(goal, pause_at_completion, max_segments); ends_the_call(pause)) {
      return pause;
    }
    reached_ = goal == SimTime::never() ? reached_ : std::max(reached_, goal);
    if (arrival >= limit) {
      // Every instance, however little the gateway needs to know: the caller may ask for gauges.
      const Pause pause = run_each_to(goal, false, max_segments);
      const bool idle = sent_.empty() && arrivals_.empty();
      if (idle && goal == SimTime::never()) {
        gateway_.settle_counts();
      }
      return ends_the_call(pause) ? pause : (idle ? Pause::kIdle : Pause::kLimit);
    }
    route_arrivals(goal);
  }
}

/// Every instant before `goal`, as far as something hangs on it before then.
Pause Cluster::run_to(SimTime goal, bool pause_at_completion, std::int64_t max_segments) {
  if (instances_.size() == 1) {
    return instances_.front()->advance(goal, pause_at_completion, max_segments);
  }
  for (std::int64_t rounds = 0; rounds < max_segments; ++rounds) {
    // In a closed loop an end causes an arrival: nothing may be simulated past it.
    const SimTime visible = pause_at_completion ? next_visible() : SimTime::never();
    const SimTime scrape = gateway_.next_scrape();
    if (scrape != SimTime::never() && std::min(goal, visible) != SimTime::never() &&
        scrape <= std::min(goal, visible)) {
      read_gauges(max_segments);
    } else if (visible < goal) {
      if (const Pause pause = run_each_to(visible, false, max_segments); ends_the_call(pause)) {
        return pause;
      }
      if (const Pause pause = end_at(visible, max_segments); ends_the_call(pause)) {
        return pause;
      }
    } else {
      return run_each_to(goal, !eager_, max_segments);
    }
  }
  return Pause::kBudget;
}

/// Every instant before `goal` of each instance; `lazily`: of those alone of which the gateway may
/// learn before then.
Pause Cluster::run_each_to(SimTime goal, bool lazily, std::int64_t max_segments) {
  const routing::Needs& needs = gateway_.needs();
  if (lazily && needs.nothing()) {
    return Pause::kLimit;
  }
  const core::Duration delay = needs.truth ? core::Duration() : gateway_.times().notice_latency;
  for (const auto& instance : instances_) {
    if (lazily && SimTime::saturating_sum(instance->next_visible(), delay) > goal) {
      continue;
    }
    if (const Pause pause = instance->advance(goal, false, max_segments); ends_the_call(pause)) {
      return pause;
    }
  }
  return Pause::kLimit;
}

/// Requests may end at `instant`, and nothing ended before: goes through it, but forms no batch
/// there where a request ended.
Pause Cluster::end_at(SimTime instant, std::int64_t max_segments) {
  bool ended = false;
  for (const auto& instance : instances_) {
    if (instance->next_visible() > instant) {
      continue;
    }
    const Pause pause = instance->advance(instant + kTick, true, max_segments);
    if (pause == Pause::kBudget || pause == Pause::kHorizon) {
      return pause;
    }
    ended = ended || pause == Pause::kCompletion;
  }
  reached_ = std::max(reached_, instant);
  return ended ? Pause::kCompletion : Pause::kLimit;
}

void Cluster::read_gauges(std::int64_t max_segments) {
  const SimTime at = gateway_.next_scrape();
  engine::Instance& instance = *instances_[gateway_.next_scraped().value()];
  while (instance.advance(at, false, max_segments) == Pause::kBudget) {
  }
  gateway_.scrape(gauges_of(instance.state(at)));
}

void Cluster::route_arrivals(SimTime now) {
  for (; next_arrival() == now; arrivals_.pop_front()) {
    domain::Request& request = arrivals_.front();
    const Gateway::Counted counted = gateway_.route(request, now);
    const Sent sent{.counted = counted, .arrival = request.arrival};
    const bool is_new = sent_.emplace(request.id.value(), sent).second;
    RIDGELINE_CHECK(is_new, "a request is sent once");
    request.arrival = SimTime::saturating_sum(request.arrival, gateway_.times().gateway_latency);
    instances_[counted.instance.value()]->submit(request);
  }
}

SimTime Cluster::next_arrival() const {
  return arrivals_.empty() ? SimTime::never() : arrivals_.front().arrival;
}

SimTime Cluster::next_visible() const {
  SimTime next = SimTime::never();
  for (const auto& instance : instances_) {
    next = std::min(next, instance->next_visible());
  }
  return next;
}

void Cluster::on_request(const domain::RequestRecord& record) {
  const auto sent = sent_.find(record.id.value());
  RIDGELINE_CHECK(sent != sent_.end(), "a request ends once, where it was sent");
  RIDGELINE_CHECK(sent->second.counted.instance == record.instance,
                  "a request ends where it was sent");
  domain::RequestRecord own = record;
  own.arrival = sent->second.arrival;
  if (record.outcome != domain::Outcome::kUnfinished) {
    const SimTime end = record.outcome == domain::Outcome::kAborted ? aborted_at_
                        : record.last_token == SimTime::never()     ? record.queued
                                                                    : record.last_token;
    gateway_.note_end(sent->second.counted, sent->second.first_token_seen, end);
  }
  sent_.erase(sent);
  sink_.on_request(own);
}

void Cluster::on_tokens(SimTime end, std::span<const domain::TokenEvent> events) {
  for (const domain::TokenEvent& event : events) {
    Sent& sent = sent_.at(event.request.value());
    if (!sent.first_token_seen) {
      sent.first_token_seen = true;
      gateway_.note_first_token(sent.counted, end);
    }
  }
  if (tokens_ != nullptr) {
    tokens_->on_tokens(end, events);
  }
}

engine::InstanceState Cluster::state(SimTime at) const {
  engine::InstanceState all{.at = at};
  for (const auto& instance : instances_) {
    const engine::InstanceState one = instance->state(at);
    all.running += one.running;
    all.waiting += one.waiting;
    all.queued_prompt_tokens += one.queued_prompt_tokens;
    all.used_blocks += one.used_blocks;
    all.free_blocks += one.free_blocks;
  }
  return all;
}

SimTime Cluster::now() const {
  SimTime first = SimTime::never();
  for (const auto& instance : instances_) {
    if (instance->next_instant() != SimTime::never()) {
      first = std::min(first, instance->now());
    }
  }
  return first == SimTime::never() ? reached_ : std::max(reached_, first);
}

engine::EngineTotals Cluster::totals() const {
  engine::EngineTotals all;
  for (const auto& instance : instances_) {
    const engine::EngineTotals one = instance->totals();
    all.steps += one.steps;
    all.preemptions += one.preemptions;
    all.step_time.cpu += one.step_time.cpu;
    for (std::size_t part = 0; part < domain::kNumBottlenecks; ++part) {
      all.step_time.by_bottleneck[part] += one.step_time.by_bottleneck[part];
    }
    all.busy += one.busy;
    all.prefix_queries += one.prefix_queries;
    all.prefix_hits += one.prefix_hits;
    all.peak_used_blocks += one.peak_used_blocks;
    all.used_block_seconds += one.used_block_seconds;
    all.jumped_steps += one.jumped_steps;
  }
  return all;
}

void Cluster::drop_all() {
  const SimTime at = now();
  for (const auto& instance : instances_) {
    instance->drop_all();
  }
  for (; !arrivals_.empty(); arrivals_.pop_front()) {
    if (arrivals_.front().arrival <= at) {
      report_unserved(arrivals_.front(), domain::Outcome::kUnfinished, at);
    }
  }
  sent_.clear();
}

/// Of a request that no instance got.
void Cluster::report_unserved(const domain::Request& request, domain::Outcome outcome, SimTime at) {
  domain::RequestRecord record;
  record.id = request.id;
  record.label_set = request.label_set;
  record.outcome = outcome;
  record.prompt_tokens = request.prompt_tokens;
  record.arrival = request.arrival;
  record.queued = at;
  sink_.on_request(record);
}

}  // namespace ridgeline::cluster
