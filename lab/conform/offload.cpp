#include "lab/conform/offload.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "engine/probe.hpp"
#include "engine/probe_extras.hpp"
#include "lab/conform/chunk_cache.hpp"
#include "lab/conform/recording.hpp"

namespace ridgeline::conform {
namespace {

ChunkRules rules_of(const Recording::Offload& options, const engine::Profile& profile) {
  return {.is_adaptive = options.is_adaptive,
          .store_threshold = options.store_threshold,
          .counts_offers = profile.counts_offered_chunks,
          .gives_up_either = profile.arc_gives_up_either,
          .follows_requests = profile.chunks_follow_requests,
          .ranks_running = profile.ranks_running_chunks,
          .set_order = options.set_order};
}

}  // namespace

Offload::Offload(const Recording& recording, const engine::Profile& profile)
    : options_(*recording.offload),
      profile_(profile),
      block_size_(recording.options.block_size.value()),
      cache_(rules_of(options_, profile), options_.chunks) {
  for (const auto& entry : recording.entries) {
    prompts_[entry.request.id] = entry.request.prompt_tokens.value();
  }
}

void Offload::note_keys(Request& request, Hashes hashes) const {
  const std::int64_t blocks = options_.blocks_per_chunk;
  for (std::int64_t end = (std::ssize(request.keys) + 1) * blocks; end <= std::ssize(hashes);
       end += blocks) {
    request.keys.push_back(hashes[static_cast<std::size_t>(end - 1)]);
    request.uses.places[request.keys.back()] = std::ssize(request.keys);
  }
}

std::int64_t Offload::find(core::RequestId request, Hashes hashes, std::int64_t local) {
  Request& state = requests_[request];
  state.blocks.clear();
  if (profile_.ranks_running_chunks) {
    state.next = 0;
  }
  if (!state.jobs.empty()) {
    return -1;
  }
  note_keys(state, hashes);
  const std::int64_t chunk = options_.blocks_per_chunk;
  const std::int64_t first = local / chunk;
  std::int64_t end = first;
  bool waits = false;
  if (std::ssize(state.keys) * chunk - local >= chunk) {
    for (; end < std::ssize(state.keys); ++end) {
      const auto found = cache_.look_up(state.keys[static_cast<std::size_t>(end)]);
      if (found == ChunkCache::Found::kNo) {
        break;
      }
      waits = waits || found == ChunkCache::Found::kBeingWritten;
    }
  }
  const std::int64_t blocks = end * chunk - local;
  const bool is_hit = end > first && blocks >= chunk;
  for (std::int64_t i = first; is_hit && i < end; ++i) {
    waits = waits || loading_.contains(state.keys[static_cast<std::size_t>(i)]);
  }
  cache_.touch(state.keys);
  return waits ? -1 : (is_hit ? blocks : 0);
}

std::uint64_t Offload::begin(core::RequestId request,
                             Hashes /*hashes*/,
                             std::int64_t local,
                             std::int64_t loaded) {
  if (loaded == 0) {
    return 0;
  }
  Request& state = requests_[request];
  const std::int64_t chunk = options_.blocks_per_chunk;
  const std::int64_t end = (local + loaded) / chunk;
  const std::vector<store::BlockKey> keys(state.keys.begin() + local / chunk,
                                          state.keys.begin() + end);
  loads_.push_back({.id = request,
                    .begin = local,
                    .end = local + loaded,
                    .chunks = cache_.begin_read(keys, state.uses)});
  state.next = end;
  state.jobs.insert(++num_jobs_);
  jobs_[num_jobs_] = {.id = request, .keys = keys, .left = options_.load_steps};
  loading_.insert(keys.begin(), keys.end());
  return 0;  // One request has one load on the way.
}

bool Offload::hold(core::RequestId request) {
  ended_.push_back(request);
  return false;
}

/// Notes the blocks of the requests of a step, and returns those that it has given out.
std::set<core::BlockId> Offload::note_blocks(const engine::SchedulerProbe::Step& step,
                                             const engine::SchedulerProbe& probe,
                                             engine::ProbeExtras& extras) {
  std::set<core::BlockId> given;
  for (const Load& load : loads_) {
    const auto blocks = probe.blocks(load.id).front();
    given.insert(blocks.begin(), blocks.end());
  }
  for (const core::RequestId id : step.preempted) {
    requests_[id].blocks.clear();
  }
  for (const auto& item : step.scheduled) {
    Request& state = requests_[item.id];
    note_keys(state, extras.hashes(item.id));
    const auto blocks = probe.blocks(item.id).front();
    for (std::size_t i = state.blocks.size(); i < blocks.size(); ++i) {
      given.insert(blocks[i]);
    }
    state.blocks = blocks;
  }
  return given;
}

/// Offers a request's full chunks of so many tokens that have not been offered yet.
void Offload::offer(core::RequestId id, std::int64_t tokens, Jobs& jobs) {
  Request& state = requests_[id];
  const std::int64_t chunk = options_.blocks_per_chunk;
  if (options_.prompts_only) {
    tokens = std::min(tokens, prompts_[id]);
  }
  const std::int64_t end = std::min(
      {tokens / (chunk * block_size_), std::ssize(state.blocks) / chunk, std::ssize(state.keys)});
  if (end <= state.next) {
    return;
  }
  const std::vector<store::BlockKey> offered(state.keys.begin() + state.next,
                                             state.keys.begin() + end);
  const auto write = cache_.begin_write(offered, state.uses);
  if (!write) {
    return;  // No room: offered again in the next step.
  }
  if (!write->keys.empty()) {
    cache_.touch(state.keys);
    Part part{.id = id, .chunks = write->places};
    for (std::int64_t i = state.next; i < end; ++i) {
      if (std::ranges::find(write->keys, state.keys[static_cast<std::size_t>(i)]) !=
          write->keys.end()) {
        part.blocks.insert(part.blocks.end(),
                           state.blocks.begin() + i * chunk,
                           state.blocks.begin() + (i + 1) * chunk);
      }
    }
    state.jobs.insert(++num_jobs_);
    jobs_[num_jobs_] = {.id = id,
                        .keys = write->keys,
                        .sources = part.blocks,
                        .left = options_.store_steps,
                        .is_store = true};
    jobs.stores.push_back(std::move(part));
  }
  state.next = end;
}

Offload::Jobs Offload::note_step(const engine::SchedulerProbe::Step& step,
                                 const engine::SchedulerProbe& probe,
                                 engine::ProbeExtras& extras) {
  Jobs jobs;
  const std::set<core::BlockId> given = note_blocks(step, probe, extras);
  for (Load& load : loads_) {
    const auto blocks = probe.blocks(load.id).front();
    jobs.loads.push_back({.id = load.id,
                          .blocks = {blocks.begin() + load.begin, blocks.begin() + load.end},
                          .chunks = std::move(load.chunks)});
  }
  loads_.clear();
  const auto is_given = [&](core::BlockId block) { return given.contains(block); };
  for (auto& [number, job] : jobs_) {
    const bool is_preempted = std::ranges::find(step.preempted, job.id) != step.preempted.end();
    const bool has_ended =
        requests_[job.id].is_over || std::ranges::find(ended_, job.id) != ended_.end();
    if (job.is_store &&
        (is_preempted || (has_ended && std::ranges::any_of(job.sources, is_given)))) {
      job.left = 1;
      jobs.flushed.push_back(job.id);
      jobs.flushed_jobs.push_back(number - 1);
    }
  }
  for (const auto& item : step.scheduled) {
    offer(item.id, item.computed + item.tokens, jobs);
  }
  for (const core::RequestId id : std::exchange(ended_, {})) {
    offer(id, prompts_[id] + probe.output_tokens(id), jobs);
    requests_[id].is_over = true;
    cache_.finish(requests_[id].uses);
  }
  return jobs;
}

std::vector<core::RequestId> Offload::end_step() {
  std::vector<core::RequestId> loaded;
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    Job& job = it->second;
    if (--job.left > 0) {
      ++it;
      continue;
    }
    if (job.is_store) {
      cache_.end_write(job.keys);
    } else {
      cache_.end_read(job.keys);
      for (const store::BlockKey key : job.keys) {
        loading_.erase(key);
      }
      loaded.push_back(job.id);
    }
    requests_[job.id].jobs.erase(it->first);
    it = jobs_.erase(it);
  }
  return loaded;
}

}  // namespace ridgeline::conform
