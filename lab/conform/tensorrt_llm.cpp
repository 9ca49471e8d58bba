// TensorRT-LLM's recordings: the executor's loop around our scheduler.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/tensorrt_llm/scheduler.hpp"
#include "engine/tensorrt_llm/sequence.hpp"
#include "engine/tensorrt_llm/settings.hpp"
#include "lab/conform/engine_recording.hpp"
#include "lab/conform/engines.hpp"
#include "lab/conform/recording.hpp"

namespace ridgeline::conform {
namespace {

namespace tensorrt_llm = engine::tensorrt_llm;
using engine::ScheduledSequence;
using engine::ScheduledStep;

struct Configuration {
  engine::EngineOptions options;
  tensorrt_llm::Settings settings;
};

/// A word of a list, as its place in it.
template <class Choice>
Choice choose(document::ObjectReader& reader,
              const char* key,
              const std::vector<std::string>& words) {
  const auto word = reader.choice(key, words);
  const auto place = word ? std::ranges::find(words, *word) - words.begin() : 0;
  return static_cast<Choice>(place);
}

void read_settings(document::ObjectReader& reader, tensorrt_llm::Settings& settings) {
  settings.capacity_scheduler_policy = choose<tensorrt_llm::CapacityPolicy>(
      reader,
      "capacity_scheduler_policy",
      {"GUARANTEED_NO_EVICT", "MAX_UTILIZATION", "STATIC_BATCH"});
  settings.context_chunking_policy = choose<tensorrt_llm::ChunkingPolicy>(
      reader, "context_chunking_policy", {"FIRST_COME_FIRST_SERVED", "EQUAL_PROGRESS"});
  settings.chunk_unit_size = reader.integer("chunk_unit_size", {1, 1'000'000}).value_or(0);
  settings.two_step_lookahead = reader.boolean("two_step_lookahead").value_or(false);
  settings.skips_duplicate_prefixes = reader.boolean("prefix_aware").value_or(true);
  // Recordings reuse whole blocks alone.
  settings.enable_partial_reuse = reader.boolean("enable_partial_reuse").value_or(false);
  settings.batch_wait_timeout_iters =
      reader.integer("batch_wait_timeout_iters", {0, 1'000'000}).value_or(0);
  settings.batch_wait_max_tokens_ratio =
      reader.real("batch_wait_max_tokens_ratio", {0.0, 1.0}).value_or(0.0);
}

Configuration read_engine_configuration(const document::Node& cfg, core::Errors& errors) {
  Configuration configuration;
  engine::EngineOptions& options = configuration.options;
  document::ObjectReader reader(cfg, "cfg", errors);
  // EngineOptions count vLLM's null block.
  options.num_gpu_blocks = core::Blocks(reader.required_integer("num_blocks", {1, 10'000'000}) + 1);
  options.block_size = core::Tokens(reader.required_integer("tokens_per_block", {1, 4096}));
  options.max_num_seqs = reader.required_integer("max_batch_size", {1, 1'000'000});
  options.max_num_batched_tokens =
      core::Tokens(reader.required_integer("max_num_tokens", {1, 100'000'000}));
  options.max_model_len = core::Tokens(reader.required_integer("max_seq_len", {1, 100'000'000}));
  options.enable_chunked_prefill = reader.boolean("enable_chunked_prefill").value_or(false);
  options.async_scheduling = reader.boolean("overlap").value_or(false);
  options.enable_prefix_caching = reader.boolean("enable_block_reuse").value_or(false);
  options.num_speculative_tokens = reader.integer("num_draft_tokens", {0, 1000}).value_or(0);
  read_settings(reader, configuration.settings);
  finish_leniently(reader, cfg);
  return configuration;
}

/// The executor's loop: with overlap a step's results are applied when the next one is launched.
class Executor {
 public:
  Executor(const EngineRecording& recording, const Configuration& configuration)
      : recording_(recording),
        options_(configuration.options),
        scheduler_(configuration.options, configuration.settings),
        samplings_(recording.requests.size()) {}

  std::vector<EngineRecord> run() {
    std::vector<EngineRecord> records;
    std::size_t arrived = 0;
    for (std::int64_t step = 0; step < recording_.most_iterations; ++step) {
      for (const EngineRequest& entry : recording_.requests) {
        if (entry.arrive_step == step) {
          ++arrived;
          if (auto sequence = scheduler_.add(entry.request); sequence != nullptr) {
            inside_.push_back(std::move(sequence));
          }
        }
      }
      records.push_back(iteration(step));
      if (arrived == recording_.requests.size() && inside_.empty() && in_flight_.empty()) {
        break;
      }
    }
    return records;
  }

 private:
  [[nodiscard]] const std::string& name(const engine::Sequence& sequence) const {
    return recording_.requests[sequence.record.id.value()].name;
  }
  template <class List>
  [[nodiscard]] std::string names(const List& list) const {
    std::vector<std::string> all;
    for (const auto& sequence : list) {
      all.push_back(name(*sequence));
    }
    return fmt::format("[{}]", fmt::join(all, " "));
  }
  /// [A B], or {A:1 B:2}.
  static std::string map_of(const std::vector<std::string>& items) {
    return fmt::format("{{{}}}", fmt::join(items, " "));
  }

  EngineRecord iteration(std::int64_t step) {
    EngineRecord record{{"step", std::to_string(step)}};
    form_step(record);
    const bool launched = !in_flight_.empty() && in_flight_.back().is_new;
    if (!options_.async_scheduling || in_flight_.size() > 1 || (!launched && !in_flight_.empty())) {
      end_step(record);
    }
    if (!in_flight_.empty()) {
      in_flight_.back().is_new = false;
    }
    record["states"] = states();
    record["free_blocks_after"] = std::to_string(scheduler_.kv_cache().num_free());
    return record;
  }

  /// States of the active requests, behind the iteration.
  [[nodiscard]] std::string states() const {
    std::vector<std::string> all;
    for (const auto& sequence : scheduler_.running()) {
      all.push_back(name(*sequence) + (sequence->is_context()      ? ":context"
                                       : sequence->is_completing() ? ":to_complete"
                                                                   : ":generation"));
    }
    return map_of(all);
  }

  void form_step(EngineRecord& record) {
    const std::int64_t evicted = scheduler_.kv_cache().num_evicted();
    const std::vector<std::shared_ptr<tensorrt_llm::Sequence>> before = scheduler_.running();
    std::set<const engine::Sequence*> started;
    for (const auto& sequence : before) {
      if (sequence->holds_blocks) {
        started.insert(sequence.get());
      }
    }
    InFlight next;
    scheduler_.schedule(next.step);
    std::vector<std::shared_ptr<tensorrt_llm::Sequence>> activated(
        scheduler_.running().begin() + static_cast<std::ptrdiff_t>(before.size()),
        scheduler_.running().end());
    std::vector<std::string> contexts;
    std::vector<std::string> hits;
    std::vector<const engine::Sequence*> generations;
    std::vector<std::string> scheduled;
    for (const ScheduledSequence& part : next.step) {
      scheduled.push_back(fmt::format("{}:{}", name(*part.sequence), part.num_scheduled_tokens));
      if (part.is_prefill) {
        contexts.push_back(scheduled.back());
        if (part.num_computed_tokens > 0 && !started.contains(part.sequence)) {
          hits.push_back(fmt::format("{}:{}", name(*part.sequence), part.num_computed_tokens));
        }
      } else {
        generations.push_back(part.sequence);
      }
    }
    std::ranges::sort(hits);
    record["prefix_hit"] = map_of(hits);
    if (scheduler_.kv_cache().num_evicted() > evicted) {
      record["evicted_blocks"] = std::to_string(scheduler_.kv_cache().num_evicted() - evicted);
    }
    record["activated"] = names(activated);
    record["fitting"] = names(scheduler_.selection().fitting);
    record["paused"] = names(scheduler_.selection().paused);
    record["context"] = map_of(contexts);
    record["generation"] = names(generations);
    record["scheduled"] = map_of(scheduled);
    record["active"] = names(scheduler_.running());
    record["waiting"] = names(scheduler_.waiting());
    record["free_blocks"] = std::to_string(scheduler_.kv_cache().num_free());
    if (!next.step.empty()) {
      in_flight_.push_back(std::move(next));
    }
  }

  /// What the recording's stand-in for a GPU gives: a token, and the drafts that request i accepts
  /// at its d-th sampling.
  std::int64_t tokens_of(const ScheduledSequence& part) {
    const std::size_t i = part.sequence->record.id.value();
    const std::int64_t sampling = samplings_[i]++;
    const std::int64_t drafts = options_.num_speculative_tokens;
    return 1 + std::min(part.num_drafts,
                        (7 * static_cast<std::int64_t>(i) + 3 * sampling) % (drafts + 1));
  }

  void end_step(EngineRecord& record) {
    if (in_flight_.empty()) {
      return;
    }
    const ScheduledStep step = std::move(in_flight_.front().step);
    in_flight_.pop_front();
    std::vector<std::int64_t> tokens;
    std::vector<std::string> out;
    std::vector<const engine::Sequence*> dropped;
    for (const ScheduledSequence& part : step) {
      const auto& sequence = static_cast<const tensorrt_llm::Sequence&>(*part.sequence);
      tokens.push_back(0);
      if (!part.samples) {
        continue;
      }
      if (sequence.has_left) {
        dropped.push_back(&sequence);
        continue;
      }
      tokens.back() = tokens_of(part);
      const std::int64_t taken =
          std::min(tokens.back(), sequence.stop_after - sequence.output_tokens);
      out.push_back(fmt::format("{}:{}", name(sequence), taken));
    }
    record["tokens_out"] = map_of(out);
    record["dropped"] = names(dropped);
    const auto ended = scheduler_.update(step, tokens);
    // Recordings list what ends in the order of arrival.
    std::vector<engine::SequencePtr> finished;
    for (const engine::SequencePtr& sequence : inside_) {
      if (std::ranges::find(ended, sequence) != ended.end()) {
        finished.push_back(sequence);
      }
    }
    record["finished"] = names(finished);
    for (const engine::SequencePtr& sequence : finished) {
      std::erase(inside_, sequence);
      left_.push_back(sequence);  // A step in flight may still name it.
    }
  }

  struct InFlight {
    ScheduledStep step;
    bool is_new = true;
  };

  const EngineRecording& recording_;
  engine::EngineOptions options_;
  tensorrt_llm::Scheduler scheduler_;
  std::vector<std::int64_t> samplings_;      ///< So far, by request.
  std::vector<engine::SequencePtr> inside_;  ///< In the order of arrival.
  std::vector<engine::SequencePtr> left_;
  std::deque<InFlight> in_flight_;
};

}  // namespace

EngineReplay replay_tensorrt_llm(const EngineRecording& recording,
                                 const std::string& /*version*/,
                                 core::Errors& errors) {
  const Configuration configuration = read_engine_configuration(*recording.cfg, errors);
  return {.profile = "tensorrt-llm",
          .trace = errors.empty() ? Executor(recording, configuration).run()
                                  : std::vector<EngineRecord>()};
}

}  // namespace ridgeline::conform
