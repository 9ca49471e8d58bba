// What holds of every decision of the scheduler, over random requests that mix priorities,
// adapters, aborts, drafts, KV from another engine, asynchronous steps and cache groups, in every
// version.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/leg.hpp"
#include "engine/options.hpp"
#include "engine/probe.hpp"
#include "engine/probe_extras.hpp"
#include "engine/profiles.hpp"
#include "support/probe_run.hpp"

namespace ridgeline {
namespace {

using core::BlockId;
using core::RequestId;

/// What a workload may contain. A law that holds only without some of it switches that off.
struct Mix {
  bool priorities = true;
  bool adapters = true;
  bool aborts = true;
  bool drafts = true;
  bool remote = true;
  bool groups = true;
  bool few_blocks = true;
  bool images = true;
  bool sessions = true;
};

struct Arrival {
  domain::Request request;
  std::int64_t step = 0;
  std::int64_t abort_step = -1;
  std::int64_t remote_tokens = 0;
  std::int64_t load_steps = -1;  ///< How long those are on the way; -1: they are there at once.
  std::vector<engine::Image> images = {};
  /// A streaming session gets as many more inputs of a token, and is closed: at these steps.
  std::vector<std::int64_t> input_steps = {};
};

engine::EngineOptions random_limits(const Mix& mix) {
  using rc::gen::arbitrary;
  using rc::gen::element;
  using rc::gen::inRange;
  engine::EngineOptions options;
  const auto profiles = engine::profiles();
  options.profile = profiles[*inRange<std::size_t>(0, profiles.size())];
  options.profile.watermark = *element(0.0, 0.0, 0.1);
  options.block_size = core::Tokens(*element<std::int64_t>(1, 4));
  options.max_num_seqs = *inRange<std::int64_t>(1, 7);
  options.max_model_len = core::Tokens(*inRange<std::int64_t>(12, 60));
  options.enable_chunked_prefill = *element(true, true, false);
  options.max_num_batched_tokens = options.enable_chunked_prefill
                                       ? core::Tokens(*inRange<std::int64_t>(6, 50))
                                       : options.max_model_len;
  options.long_prefill_token_threshold = core::Tokens(*element<std::int64_t>(0, 0, 5));
  options.enable_prefix_caching = *arbitrary<bool>();
  // Up to 0.11 a victim that stays in its step is no case for steps in flight: vLLM fails there.
  options.async_scheduling = options.profile.async_skips_last_token && *arbitrary<bool>();
  if (mix.priorities && *arbitrary<bool>()) {
    options.policy = engine::SchedulingPolicy::kPriority;
  }
  if (mix.drafts && *arbitrary<bool>()) {
    options.num_speculative_tokens = *inRange<std::int64_t>(1, 4);
    options.draft_method = *element(
        engine::DraftMethod::kEagle, engine::DraftMethod::kNgram, engine::DraftMethod::kDraftModel);
  }
  if (mix.images && options.enable_chunked_prefill && *arbitrary<bool>()) {
    options.encoder_budget = 8;
    options.disable_chunked_mm_input = options.max_num_batched_tokens >= core::Tokens(20) &&
                                       options.long_prefill_token_threshold == core::Tokens(0) &&
                                       *arbitrary<bool>();
    // A request that waits may hold one image and lack room for the next, for ever.
    const bool may_hold = options.num_speculative_tokens > 0 || options.disable_chunked_mm_input;
    options.encoder_cache = may_hold ? 200 : 8;
  }
  options.max_loras = mix.adapters ? *element<std::int64_t>(0, 1, 2) : 0;
  const engine::CacheGroup window{.sliding_window = core::Tokens(*inRange<std::int64_t>(2, 14))};
  if (mix.groups) {
    const engine::CacheGroup full;
    const std::int64_t kind = *inRange<std::int64_t>(0, 4);
    options.cache_groups = kind == 0   ? std::vector{window}
                           : kind == 1 ? std::vector{full, window}
                                       : std::vector{full};
  }
  const std::int64_t longest = static_cast<std::int64_t>(options.cache_groups.size()) *
                               (core::ceil_div(options.max_model_len, options.block_size) + 2);
  options.num_gpu_blocks = core::Blocks(
      1 + longest + (mix.few_blocks ? *inRange<std::int64_t>(0, longest + 1) : 20 * longest));
  return options;
}

/// Images of up to 8 tokens, apart from each other; few of them differ.
std::vector<engine::Image> random_images(std::int64_t prompt) {
  using rc::gen::inRange;
  std::vector<engine::Image> images;
  for (std::int64_t at = *inRange<std::int64_t>(0, 6); at < prompt;) {
    const std::int64_t tokens = std::min(*inRange<std::int64_t>(1, 9), prompt - at);
    images.push_back(
        {.offset = at,
         .tokens = tokens,
         .content = *inRange<std::uint64_t>(0, 3) * 8 + static_cast<std::uint64_t>(tokens)});
    at += tokens + *inRange<std::int64_t>(0, 6);
  }
  return images;
}

std::vector<Arrival> random_arrivals(const Mix& mix, const engine::EngineOptions& options) {
  using rc::gen::element;
  using rc::gen::inRange;
  std::vector<Arrival> arrivals(*inRange<std::size_t>(1, 14));
  std::int64_t step = 0;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    Arrival& arrival = arrivals[i];
    step += *element<std::int64_t>(0, 0, 1, 5);
    arrival.step = step;
    // A prompt leaves room for a token below max_model_len.
    const std::int64_t prompt = *inRange<std::int64_t>(1, options.max_model_len.value() - 1);
    arrival.request = test::tiny_request(static_cast<std::uint32_t>(i),
                                         prompt,
                                         *inRange<std::int64_t>(1, 30),
                                         *inRange<std::uint64_t>(0, 3));
    arrival.request.priority = mix.priorities ? *inRange<std::int32_t>(0, 3) : 0;
    if (mix.adapters && *element(false, true)) {
      arrival.request.lora = core::LoraId(*inRange<std::uint32_t>(0, 3));
    }
    if (mix.aborts && *element(false, false, true)) {
      arrival.abort_step = step + *inRange<std::int64_t>(0, 12);
    }
    if (mix.remote && *element(false, false, false, true)) {
      arrival.remote_tokens = *inRange<std::int64_t>(1, prompt + 1);
      arrival.load_steps = *element<std::int64_t>(-1, 0, 1, 4);
    }
    if (options.encoder_budget > 0 && *element(false, true)) {
      arrival.images = random_images(prompt);
    }
    // Versions before 0.31 take what steps in flight sample for a session that sleeps.
    const bool may_sleep = options.profile.drops_steps_of_turn ||
                           (!options.async_scheduling && options.num_speculative_tokens == 0);
    const std::int64_t room = options.max_model_len.value() - prompt;
    if (mix.sessions && may_sleep && arrival.load_steps < 0 && arrival.remote_tokens == 0 &&
        room > 12 && *element(false, false, true)) {
      arrival.request.max_tokens = arrival.request.output_tokens =
          core::Tokens(*inRange<std::int64_t>(1, 3));
      for (std::int64_t at = step; arrival.input_steps.size() < 3;) {
        arrival.input_steps.push_back(at += *inRange<std::int64_t>(0, 12));
      }
    }
  }
  return arrivals;
}

/// Drives a probe through the arrivals, and checks the laws after every decision.
class Lawful {
 public:
  Lawful(const engine::EngineOptions& options, std::vector<Arrival> arrivals)
      : options_(options),
        arrivals_(std::move(arrivals)),
        probe_(engine::make_reference_probe(options)),
        extras_(dynamic_cast<engine::ProbeExtras&>(*probe_)),
        total_(probe_->num_free_blocks()) {}

  /// Ids in the order in which they were first scheduled.
  std::vector<RequestId> run() {
    const auto depth = static_cast<std::size_t>(engine::steps_in_flight(options_));
    constexpr std::int64_t kStuck = 5000;
    std::size_t arrived = 0;
    for (std::int64_t step = 0;; ++step) {
      if (step >= kStuck) {
        for (const RequestId id : probe_->waiting()) {
          RC_LOG() << "waits " << id.value() << std::endl;
        }
        for (const RequestId id : probe_->running()) {
          RC_LOG() << "runs " << id.value() << std::endl;
        }
        for (const RequestId id : extras_.asleep()) {
          RC_LOG() << "sleeps " << id.value() << std::endl;
        }
        RC_FAIL("stuck");
      }
      arrived += add_arrivals(step);
      send_inputs(step);
      finish_loads(step);
      abort_some(step);
      const bool formed = in_flight_.size() < depth && form_step(step);
      check_blocks();
      if (!in_flight_.empty() && !(formed && in_flight_.size() < depth)) {
        end_step();
        check_blocks();
      }
      if (arrived == arrivals_.size() && in_flight_.empty() && loads_.empty() &&
          probe_->running().empty() && probe_->waiting().empty()) {
        break;
      }
    }
    for (const auto& arrival : arrivals_) {
      check_end(arrival);
    }
    RC_ASSERT(probe_->num_free_blocks() == total_);
    return first_scheduled_;
  }
  [[nodiscard]] bool preempted() const { return preempted_; }

 private:
  std::size_t add_arrivals(std::int64_t step) {
    std::size_t added = 0;
    for (const auto& arrival : arrivals_) {
      if (arrival.step != step) {
        continue;
      }
      ++added;
      extras_.add_leg(arrival.request,
                      {.remote_tokens = core::Tokens(arrival.remote_tokens),
                       .loads = arrival.load_steps >= 0,
                       .is_session = !arrival.input_steps.empty()});
      extras_.note_images(arrival.request.id, arrival.images);
    }
    return added;
  }

  void send_inputs(std::int64_t step) {
    for (const auto& arrival : arrivals_) {
      const RequestId id = arrival.request.id;
      for (std::size_t i = 0; i < arrival.input_steps.size() && !ended_.contains(id); ++i) {
        if (arrival.input_steps[i] != step) {
          continue;
        }
        if (i + 1 < arrival.input_steps.size()) {
          domain::Request input = arrival.request;
          input.prompt.clear();
          input.prompt_tokens = core::Tokens(1);
          extras_.send(id, input);
        } else if (extras_.close(id)) {
          ended_.insert(id);
        }
      }
    }
  }

  void finish_loads(std::int64_t step) {
    for (const RequestId id : extras_.loading()) {
      loads_.try_emplace(id, step + arrivals_[id.value()].load_steps);
    }
    for (auto load = loads_.begin(); load != loads_.end();) {
      if (load->second <= step) {
        extras_.finish_load(load->first);
        load = loads_.erase(load);
      } else {
        ++load;
      }
    }
  }

  void abort_some(std::int64_t step) {
    for (const auto& arrival : arrivals_) {
      if (arrival.abort_step == step && arrival.step <= step &&
          !ended_.contains(arrival.request.id)) {
        probe_->abort(arrival.request.id);
        ended_.insert(arrival.request.id);
        aborted_.insert(arrival.request.id);
      }
    }
  }

  bool form_step(std::int64_t step) {
    const auto formed = probe_->schedule();
    finish_loads(step - 1);  // Those that begin now are noted.
    preempted_ = preempted_ || !formed.preempted.empty();
    std::int64_t tokens = 0;
    const auto running = probe_->running();
    for (const auto& item : formed.scheduled) {
      RC_ASSERT(item.tokens > 0);
      tokens += item.tokens;
      const bool runs = std::find(running.begin(), running.end(), item.id) != running.end();
      const bool is_ghost = !options_.profile.victim_returns_budget &&
                            std::find(formed.preempted.begin(), formed.preempted.end(), item.id) !=
                                formed.preempted.end();
      RC_ASSERT((runs || is_ghost));
    }
    RC_ASSERT(tokens <= options_.max_num_batched_tokens.value());
    RC_ASSERT(static_cast<std::int64_t>(running.size()) <= options_.max_num_seqs);
    RC_ASSERT((formed.preempted.empty() || formed.admitted.empty()));
    for (const auto& admitted : formed.admitted) {
      check_hit(admitted);
      if (seen_.insert(admitted.id).second) {
        first_scheduled_.push_back(admitted.id);
      }
    }
    if (!formed.scheduled.empty()) {
      in_flight_.push_back(formed.scheduled);
    }
    return !formed.scheduled.empty();
  }

  /// Cached tokens are whole blocks, leave a token to compute, and begin some sequence that has
  /// been inside before (or the request's own).
  void check_hit(const engine::SchedulerProbe::Admitted& admitted) const {
    const Arrival& own = arrivals_[admitted.id.value()];
    const std::int64_t known =
        own.request.prompt_tokens.value() + probe_->output_tokens(admitted.id);
    RC_ASSERT((admitted.computed_tokens < known || !own.input_steps.empty()));
    if (own.remote_tokens > 0 || !own.input_steps.empty() ||
        !options_.profile.victim_returns_budget) {
      return;
    }
    RC_ASSERT(admitted.computed_tokens % options_.block_size.value() == 0);
    RC_ASSERT((options_.enable_prefix_caching || admitted.computed_tokens == 0));
    std::int64_t longest = seen_.contains(admitted.id) ? known : 0;
    for (const auto& other : arrivals_) {
      if (own.request.prompt.empty() || other.request.prompt.empty() ||
          other.request.id == admitted.id || other.request.lora != own.request.lora ||
          other.request.prompt.front().content != own.request.prompt.front().content) {
        continue;
      }
      longest = std::max(longest,
                         std::min(own.request.prompt_tokens, other.request.prompt_tokens).value());
    }
    RC_ASSERT(admitted.computed_tokens <= longest);
  }

  void end_step() {
    std::vector<std::int64_t> tokens;
    for (const auto& item : in_flight_.front()) {
      const std::int64_t accepted = (item.id.value() + draws_++) % 4;
      tokens.push_back(item.samples ? 1 + std::min<std::int64_t>(accepted, item.drafts) : 0);
    }
    in_flight_.erase(in_flight_.begin());
    for (const RequestId id : probe_->update(tokens)) {
      RC_ASSERT(ended_.insert(id).second);
    }
  }

  /// Used and free are all; a free block has no holder; without a prefix cache no block is held
  /// twice; a request that has ended holds nothing.
  void check_blocks() const {
    std::map<BlockId, std::int64_t> holders;
    for (const auto& arrival : arrivals_) {
      const RequestId id = arrival.request.id;
      const auto tables = known(id) ? probe_->blocks(id) : std::vector<std::vector<BlockId>>{};
      const bool holds_for_load = loads_.contains(id);
      RC_ASSERT((tables.empty() || !ended_.contains(id) || holds_for_load));
      for (const auto& table : tables) {
        for (const BlockId block : table) {
          if (block != BlockId(0)) {
            ++holders[block];
          }
        }
      }
    }
    RC_ASSERT(static_cast<std::int64_t>(holders.size()) + probe_->num_free_blocks() == total_);
    for (const BlockId block : probe_->free_list()) {
      RC_ASSERT(!holders.contains(block));
    }
    for (const auto& [block, count] : holders) {
      RC_ASSERT((count == 1 || options_.enable_prefix_caching));
    }
  }
  [[nodiscard]] bool known(RequestId id) const {
    const auto waiting = probe_->waiting();
    return seen_.contains(id) || ended_.contains(id) || loads_.contains(id) ||
           std::find(waiting.begin(), waiting.end(), id) != waiting.end();
  }

  void check_end(const Arrival& arrival) const {
    const auto& request = arrival.request;
    RC_ASSERT(ended_.contains(request.id));
    if (!arrival.input_steps.empty()) {
      return;
    }
    const std::int64_t room = options_.max_model_len.value() - request.prompt_tokens.value();
    const std::int64_t wanted = std::min(request.max_tokens.value(), room);
    const std::int64_t made = probe_->output_tokens(request.id);
    RC_ASSERT((aborted_.contains(request.id) ? made <= wanted : made == wanted));
  }

  engine::EngineOptions options_;
  std::vector<Arrival> arrivals_;
  std::unique_ptr<engine::SchedulerProbe> probe_;
  engine::ProbeExtras& extras_;
  std::int64_t total_;
  std::vector<std::vector<engine::SchedulerProbe::Scheduled>> in_flight_;
  std::map<RequestId, std::int64_t> loads_;
  std::set<RequestId> seen_;
  std::set<RequestId> ended_;
  std::set<RequestId> aborted_;
  std::vector<RequestId> first_scheduled_;
  std::int64_t draws_ = 0;
  bool preempted_ = false;
};

RC_GTEST_PROP(SchedulerLaws, HoldWhateverIsMixed, ()) {
  Mix mix{.remote = *rc::gen::arbitrary<bool>()};
  // A request that waits for KV keeps its blocks: with few of them vLLM may stand still, too.
  mix.few_blocks = !mix.remote;
  const auto options = random_limits(mix);
  const auto arrivals = random_arrivals(mix, options);
  for (const auto& a : arrivals) {
    RC_LOG() << a.request.id.value() << " at " << a.step << " prompt "
             << a.request.prompt_tokens.value() << " max " << a.request.max_tokens.value()
             << " abort " << a.abort_step << " remote " << a.remote_tokens << " load "
             << a.load_steps << " images " << a.images.size() << " inputs " << a.input_steps.size()
             << " in " << options.profile.name << std::endl;
  }
  Lawful run(options, arrivals);
  run.run();
  RC_CLASSIFY(run.preempted(), "preempted");
}

/// First come, first served: with room for every request and nothing to wait for, the order of
/// first steps is that of arrival.
RC_GTEST_PROP(SchedulerLaws, FirstComeFirstServed, ()) {
  const Mix mix{.priorities = false,
                .adapters = false,
                .aborts = false,
                .remote = false,
                .few_blocks = false,
                .images = false,
                .sessions = false};
  auto options = random_limits(mix);
  options.enable_chunked_prefill = true;
  Lawful run(options, random_arrivals(mix, options));
  const auto order = run.run();
  RC_ASSERT(!run.preempted());
  RC_ASSERT(std::is_sorted(order.begin(), order.end()));
}

}  // namespace
}  // namespace ridgeline
