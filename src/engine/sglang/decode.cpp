// Decode steps of the scheduler, what happens when the pool is full, and quiet steps.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/policy.hpp"
#include "engine/sglang/request.hpp"
#include "engine/sglang/scheduler.hpp"

namespace ridgeline::engine::sglang {

/// Slots that a decode step takes for a request: one, or with speculation all up to the reserve
/// behind its KV that is final.
std::int64_t Scheduler::slots_for_decode(const Sequence& request) const {
  const Speculation& speculation = settings_.speculation;
  if (!speculation.is_on()) {
    return 1;
  }
  const std::int64_t page = settings_.page_size;
  const std::int64_t end = request.committed + speculation.reserve(page);
  const std::int64_t rounded = settings_.rules.trims_drafts ? pages(end) * page : end;
  return std::max<std::int64_t>(rounded - request.kv_len, 0);
}

/// Pages that a decode step of the running requests takes.
std::int64_t Scheduler::pages_for_decode() const {
  if (settings_.speculation.is_on()) {
    std::int64_t taken = 0;
    for (const RequestPtr& request : running_.requests) {
      taken += pages(request->kv_len + slots_for_decode(*request)) - pages(request->kv_len);
    }
    return taken;
  }
  return phases_.in(decodes_.next_step()) +
         std::ranges::count_if(running_.singles, [this](const RequestPtr& request) {
           return request->kv_len % settings_.page_size == 0;
         });
}

/// pages_for_decode() as SGLang's check reckons it: 0.5.5 goes by the tokens that are known, which
/// lag behind by one where a step in flight holds the request, and takes that to be so for all.
std::int64_t Scheduler::pages_expected() const {
  if (settings_.rules.keeps_delayed_token || settings_.page_size == 1) {
    return pages_for_decode();
  }
  const std::int64_t delayed = settings_.overlap ? 0 : 1;
  // A member has a token in each step in flight, and one that is known but not computed.
  const std::int64_t in_flight = decodes_.next_step() - decodes_.oldest_step();
  return phases_.in(decodes_.next_step() + 1 - in_flight - delayed) +
         std::ranges::count_if(running_.singles, [&](const RequestPtr& request) {
           return (request->num_tokens() - delayed) % settings_.page_size == 0;
         });
}

bool Scheduler::check_decode_memory() {
  const std::int64_t tokens = pages_expected() * settings_.page_size;
  make_room(tokens);
  const std::int64_t evictable = settings_.disable_radix_cache ? 0 : tree_.evictable();
  return free_tokens() >= tokens &&
         free_tokens() + evictable >= pages_for_decode() * settings_.page_size;
}

void Scheduler::drop_finished() {
  if (std::exchange(running_.some_finished, false)) {
    const auto is_finished = [](const RequestPtr& request) { return request->is_finished; };
    std::erase_if(running_.requests, is_finished);
    std::erase_if(running_.singles, is_finished);
  }
}

/// Whether the step in flight brings a request to its last permitted token.
bool Scheduler::awaits_last_token(const Sequence& request) const {
  return settings_.overlap && settings_.rules.skips_last_token && !decodes_for_others_ &&
         !request.decoding.is_member &&
         (settings_.speculation.is_on() ? request.in_flight > 0
                                        : request.kv_len >= request.num_tokens()) &&
         request.outputs + 1 >= request.max_output_tokens;
}

/// Requests whose last permitted token is in flight leave the running batch; true where there are
/// some.
bool Scheduler::set_ending_apart() {
  const auto awaits = [this](const RequestPtr& request) { return awaits_last_token(*request); };
  const auto before = ending_.size();
  std::ranges::copy_if(running_.singles, std::back_inserter(ending_), awaits);
  if (ending_.size() == before) {
    return false;
  }
  std::erase_if(running_.singles, awaits);
  std::erase_if(running_.requests, awaits);
  return true;
}

void Scheduler::form_decode(ScheduledStep& step) {
  RequestList& running = running_.requests;
  const auto before = running.size();
  drop_finished();
  const bool some_end = set_ending_apart();
  if (running.empty()) {
    running_.is_full = running_.is_full && before == 0 && !settings_.rules.blocks_beside_others;
    return;
  }
  const bool fits = check_decode_memory();
  if (!fits && some_end) {
    running_.is_full = false;
    return;
  }
  if (fits) {
    ratio_ = std::max(ratio_ - ratio_decay_, min_ratio_);
  } else {
    retract();
  }
  if (running.size() < before) {
    running_.is_full = false;
  }
  if (!running.empty()) {
    iteration_.mode = Mode::kDecode;
    put_decodes(step);
  }
}

/// Each running request joins the step: with a token, or the drafts behind it as well.
void Scheduler::put_decodes(ScheduledStep& step) {
  const bool verifies = settings_.speculation.is_on() && iteration_.mode == Mode::kDecode;
  const std::int64_t tokens = verifies ? settings_.speculation.draft_tokens : 1;
  make_room((settings_.speculation.is_on() ? pages_for_decode() : std::ssize(running_.requests)) *
            settings_.page_size);
  if (!decodes_.empty()) {
    decodes_.put_in_step();
    free_pages_ -= phases_.in(decodes_.next_step());
    RIDGELINE_CHECK(free_pages_ >= 0, "the pool gives no page that it has not");
  }
  for (const RequestPtr& request : running_.singles) {
    step.push_back({.sequence = request.get(),
                    .num_computed_tokens =
                        settings_.speculation.is_on() ? request->committed : request->kv_len,
                    .num_scheduled_tokens = tokens,
                    .num_drafts = tokens - 1,
                    .is_prefill = false,
                    .samples = true,
                    .place = request->place});
    extend_kv(*request, slots_for_decode(*request));
    ++request->in_flight;
  }
}

/// Requests of a step of decodes from which nothing but tokens is to come for a while become
/// members.
void Scheduler::gather(const ScheduledStep& step) {
  // Where pages are about to run out, requests would leave again at once.
  if (step.empty() ||
      free_pages_ + evictable() / settings_.page_size < std::ssize(running_.requests)) {
    return;
  }
  const std::int64_t first = decodes_.next_step() + 1;
  for (const ScheduledSequence& part : step) {
    auto& request = static_cast<Sequence&>(*part.sequence);
    // Once step s has ended, base + s + 2 tokens are known.
    const std::int64_t base = request.kv_len - first;
    const bool leaves_early = settings_.overlap && !decodes_for_others_ &&
                              settings_.rules.skips_last_token &&
                              request.stop_after >= request.max_output_tokens;
    const std::int64_t until =
        request.num_prompt_tokens + request.stop_after - base - (leaves_early ? 3 : 2);
    constexpr std::int64_t kWorthwhile = 2;
    if (request.num_delivered_tokens == request.outputs && until >= first + kWorthwhile) {
      decodes_.add(request, request.kv_len, first, until);
      phases_.add(base);
    }
  }
  std::erase_if(running_.singles,
                [](const RequestPtr& request) { return request->decoding.is_member; });
}

/// A member's counters are as of now.
void Scheduler::settle(Sequence& request) {
  const DecodeSet::Progress steps = decodes_.settle(request);
  request.kv_len += steps.formed;
  request.outputs += steps.ended;
}

void Scheduler::settle_members() {
  for (const RequestPtr& request : running_.requests) {
    if (request->decoding.is_member) {
      settle(*request);
    }
  }
}

void Scheduler::stop_gathering(Sequence& request) {
  settle(request);
  decodes_.remove(request);
  phases_.remove(request.decoding.base);
}

/// There are no members any more.
void Scheduler::dissolve_members() {
  for (const RequestPtr& request : running_.requests) {
    if (request->decoding.is_member) {
      stop_gathering(*request);
    }
  }
  running_.singles = running_.requests;
  decodes_.leave_out_of_step();
}

void Scheduler::leave_decodes(engine::Sequence& request) {
  auto& own = static_cast<Sequence&>(request);
  stop_gathering(own);
  const auto behind = std::ranges::find_if(
      running_.singles, [&](const RequestPtr& other) { return other->place > own.place; });
  const auto at = std::ranges::find(running_.requests, &own, &RequestPtr::get);
  running_.singles.insert(behind, *at);
}

/// The pool cannot give the next tokens: running requests go back to the queue until it can
/// (retract_decode).
void Scheduler::retract() {
  dissolve_members();
  RequestList& running = running_.requests;
  const bool by_priority = settings_.retraction_policy == RetractionPolicy::kPriority;
  const auto keeps_longer = [&](const RequestPtr& a, const RequestPtr& b) {
    const std::int64_t lead = by_priority ? priority_lead(*a, *b, settings_) : 0;
    if (lead != 0) {
      return lead > 0;
    }
    return std::pair(a->outputs, -a->num_prompt_tokens) >
           std::pair(b->outputs, -b->num_prompt_tokens);
  };
  if (!settings_.speculation.is_on() || settings_.rules.sorts_with_drafts) {
    std::ranges::stable_sort(running, keeps_longer);
  }
  running_.singles = running;
  bool is_first = true;
  while (running.size() > 1 && (is_first || !check_decode_memory())) {
    is_first = false;
    const RequestPtr victim = running.back();
    running.pop_back();
    running_.singles.pop_back();
    retract_one(victim, std::ssize(running));
    take_back(victim);
  }
  if (running.size() == 1 && !check_decode_memory()) {
    fail(running.front());
    running.clear();
    running_.singles.clear();
  }
  for (const RequestPtr& request : running) {
    request->place = num_placed_++;
  }
  std::int64_t outputs = settings_.retract_decode_steps * std::ssize(running);
  std::int64_t most = 1;
  for (const RequestPtr& request : running) {
    outputs += request->answer();
    most += request->most_answer();
  }
  ratio_ = std::min(1.0, static_cast<double>(outputs) / static_cast<double>(most));
}

/// A running request loses its KV, and what steps in flight sample for it.
void Scheduler::retract_one(const RequestPtr& request, std::int64_t remaining) {
  release(*request);
  make_room(remaining * settings_.retract_decode_steps);
  request->drops_tokens = true;
  ++request->record.preemptions;
  ++num_retractions_;
  queued_prompt_tokens_ += request->num_prompt_tokens;
  iteration_.retracted.push_back(request->record.id);
}

/// A request that finds no room even alone ends with an error.
void Scheduler::fail(const RequestPtr& request) {
  release(*request);
  request->is_finished = true;
  failed_.push_back(request);
}

std::int64_t Scheduler::quiet_steps() const {
  const RequestList& running = running_.requests;
  const bool may_admit = !waiting_.empty() && (!running_.is_full || settings_.preempts());
  const bool may_load =
      !copies_.empty() || !preallocating_.empty() || !arrived_.empty() || !retracted_.empty();
  if (last_.mode != Mode::kDecode || chunked_ != nullptr || may_load || may_admit ||
      running.empty()) {
    return 0;
  }
  std::int64_t rounds = std::numeric_limits<std::int64_t>::max();
  if (!inbox_.empty()) {
    rounds = settings_.scheduler_recv_interval - receive_counter_ - 1;
  }
  if (decodes_.gathers() && !running_.singles.empty()) {
    return 0;
  }
  const std::int64_t most = settings_.speculation.steps + 1;  // Tokens of a request in a round.
  for (const RequestPtr& request : running_.singles) {
    if (request->is_finished) {
      return 0;
    }
    rounds = std::min(rounds, (request->stop_after - request->outputs - 1) / most);
    if (settings_.overlap && settings_.rules.skips_last_token) {
      rounds = std::min(rounds, (request->max_output_tokens - request->outputs - 2) / most);
    }
  }
  if (!decodes_.empty()) {
    rounds = std::min(rounds, decodes_.steps_left());
  }
  // The pool gives a page to each, and evicts where it has none: no request is taken back.
  const std::int64_t room =
      free_pages_ + (settings_.disable_radix_cache ? 0 : evictable() / settings_.page_size);
  const std::int64_t each = room / std::ssize(running);
  // With speculation a page more, for slots that begin one, and a round more, that is in flight.
  const std::int64_t by_room = settings_.speculation.is_on()
                                   ? (each - 1) * settings_.page_size / most - 1
                                   : each * settings_.page_size;
  return std::max<std::int64_t>(std::min(rounds, by_room), 0);
}

std::vector<BlockChange> Scheduler::advance_quiet(std::span<ScheduledStep* const> in_flight,
                                                  std::int64_t rounds) {
  const std::int64_t page = settings_.page_size;
  const std::int64_t count = std::ssize(running_.requests);
  // How many of the requests take a page in each round of `page` in turn.
  std::vector<std::int64_t> takers(static_cast<std::size_t>(page), 0);
  const std::int64_t next = decodes_.next_step();
  for (std::int64_t round = 0; round < std::min(page, rounds); ++round) {
    takers[static_cast<std::size_t>(round)] = phases_.in(next + round);
  }
  decodes_.go_to(next + rounds, decodes_.oldest_step() + rounds);
  for (const RequestPtr& request : running_.singles) {
    const std::int64_t round = (page - request->kv_len % page) % page;
    ++takers[static_cast<std::size_t>(round)];
    request->kv_len += rounds;
    request->outputs += rounds;
  }
  pass_interval(rounds);
  std::vector<BlockChange> changes;
  iteration_ = {.mode = Mode::kDecode};
  std::int64_t used = counts().used_blocks;
  for (std::int64_t round = 0; round < rounds; ++round) {
    if (settings_.scheduler_recv_interval > 1 &&
        ++receive_counter_ >= settings_.scheduler_recv_interval) {
      receive_counter_ = 0;
    }
    const std::int64_t taken = takers[static_cast<std::size_t>(round % page)];
    make_room(taken * page);
    ratio_ = std::max(ratio_ - ratio_decay_, min_ratio_);
    make_room(count * page);
    free_pages_ -= taken;
    RIDGELINE_CHECK(free_pages_ >= 0, "a quiet step found no page");
    if (taken > 0) {
      used += taken;
      changes.push_back({.step = round, .used_blocks = used});
    }
  }
  const auto depth = static_cast<std::int64_t>(in_flight.size());
  for (std::int64_t place = 0; place < depth; ++place) {
    const std::int64_t times = (rounds - place + depth - 1) / depth;
    for (ScheduledSequence& part : *in_flight[static_cast<std::size_t>(place)]) {
      part.num_computed_tokens += depth * times;
    }
  }
  return changes;
}

}  // namespace ridgeline::engine::sglang
