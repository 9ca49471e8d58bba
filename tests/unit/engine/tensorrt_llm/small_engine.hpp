#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/tensorrt_llm/capacity.hpp"
#include "engine/tensorrt_llm/kv_cache.hpp"
#include "engine/tensorrt_llm/scheduler.hpp"
#include "engine/tensorrt_llm/sequence.hpp"
#include "engine/tensorrt_llm/settings.hpp"

namespace ridgeline::engine::tensorrt_llm {

/// A request of so many prompt and output tokens; with `content`, of a text that others have too.
inline domain::Request small_request(std::uint32_t id,
                                     std::int64_t prompt,
                                     std::int64_t output,
                                     std::uint64_t content = 0) {
  domain::Request request;
  request.id = core::RequestId(id);
  request.prompt_tokens = core::Tokens(prompt);
  request.output_tokens = core::Tokens(output);
  request.max_tokens = request.output_tokens;
  if (content > 0) {
    request.prompt = {{content, request.prompt_tokens}};
  }
  return request;
}

/// Blocks of 4 tokens, 16 of them, 8 requests and 64 tokens a step, one step at a time.
inline EngineOptions small_options() {
  EngineOptions options;
  options.block_size = core::Tokens(4);
  options.num_gpu_blocks = core::Blocks(1 + 16);
  options.max_num_seqs = 8;
  options.max_num_batched_tokens = core::Tokens(64);
  options.max_model_len = core::Tokens(256);
  options.enable_chunked_prefill = false;
  options.enable_prefix_caching = false;
  options.async_scheduling = false;
  return options;
}

/// Requests that are active, with the blocks that they hold.
class ActiveRequests {
 public:
  explicit ActiveRequests(const KvCacheLimits& limits) : kv_(limits) {}

  /// A context that has not started.
  Sequence& add_context(std::int64_t prompt, std::int64_t output, std::uint64_t content = 0) {
    if (content > 0) {
      kv_.begin_lookups();
    }
    const auto id = static_cast<std::uint32_t>(active_.size());
    active_.push_back(std::make_shared<Sequence>(small_request(id, prompt, output, content),
                                                 core::Tokens(1'000'000)));
    return *active_.back();
  }
  /// One of which `position` tokens are computed.
  Sequence& add_started(std::int64_t prompt, std::int64_t output, std::int64_t position) {
    Sequence& sequence = add_context(prompt, output);
    kv_.start(sequence);
    sequence.holds_blocks = true;
    sequence.position = position;
    return sequence;
  }
  Sequence& add_generation(std::int64_t prompt, std::int64_t output) {
    return add_started(prompt, output, prompt);
  }

  [[nodiscard]] KvCache& kv() { return kv_; }
  [[nodiscard]] std::vector<Sequence*> all() const {
    std::vector<Sequence*> list;
    for (const SequencePtr& sequence : active_) {
      list.push_back(sequence.get());
    }
    return list;
  }
  /// What a capacity scheduler selects: places in the order of arrival.
  struct Places {
    std::vector<std::uint32_t> fitting;
    std::vector<std::uint32_t> paused;
  };
  [[nodiscard]] Places select(CapacityScheduler scheduler,
                              std::int64_t max_requests = 8,
                              std::int64_t lookahead_steps = 1) const {
    Selection selection;
    const std::vector<Sequence*> active = all();
    scheduler({.active = active,
               .kv = kv_,
               .max_requests = max_requests,
               .lookahead_steps = lookahead_steps,
               .tokens_per_step = 1,
               .skips_duplicate_prefixes = true},
              selection);
    return {.fitting = places(selection.fitting), .paused = places(selection.paused)};
  }

 private:
  [[nodiscard]] static std::vector<std::uint32_t> places(const std::vector<Sequence*>& list) {
    std::vector<std::uint32_t> result;
    for (const Sequence* const sequence : list) {
      result.push_back(sequence->record.id.value());
    }
    return result;
  }

  KvCache kv_;
  std::vector<SequencePtr> active_;
};

/// 8 blocks of 4 tokens.
inline KvCacheLimits eight_blocks() {
  return {.num_blocks = 8, .tokens_per_block = 4};
}

/// A scheduler, driven step by step, of which each step is text: "0:10 1:14 | 2" are contexts with
/// their tokens, then generations.
class SmallEngine {
 public:
  explicit SmallEngine(const EngineOptions& options, const Settings& settings = {})
      : options_(options), scheduler_(options, settings) {}

  bool add(const domain::Request& request) {
    all_.push_back(scheduler_.add(request));
    return all_.back() != nullptr;
  }
  /// Forms a step; with overlap, the step before ends then, and otherwise this one does.
  std::string step() {
    ScheduledStep next;
    scheduler_.schedule(next);
    std::string contexts;
    std::string generations;
    for (const ScheduledSequence& part : next) {
      const std::string id = std::to_string(part.sequence->record.id.value());
      std::string& list = part.is_prefill ? contexts : generations;
      list += (list.empty() ? "" : " ") + id;
      if (part.is_prefill) {
        list += ":" + std::to_string(part.num_scheduled_tokens);
      }
    }
    if (!next.empty()) {
      in_flight_.push_back(std::move(next));
    }
    const bool launched = !contexts.empty() || !generations.empty();
    const std::size_t left = options_.async_scheduling && launched ? 1 : 0;
    if (in_flight_.size() > left) {
      end_oldest();
    }
    return contexts + (generations.empty() ? "" : " | " + generations);
  }
  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }

 private:
  void end_oldest() {
    const std::vector<std::int64_t> one_each(in_flight_.front().size(), 1);
    scheduler_.update(in_flight_.front(), one_each);
    in_flight_.pop_front();
  }

  EngineOptions options_;
  Scheduler scheduler_;
  std::deque<ScheduledStep> in_flight_;
  std::vector<engine::SequencePtr> all_;
};

}  // namespace ridgeline::engine::tensorrt_llm
