// Context and generation on servers of their own (_torch/pyexecutor/py_executor.py and
// capacityScheduler.cpp of 1.2, from memory): a generation gets the blocks of its whole prompt
// before other contexts get theirs, and is in no step until its KV has come; a context keeps its
// blocks, but no place among the active requests, until its KV has been sent.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "engine/leg.hpp"
#include "engine/tensorrt_llm/scheduler.hpp"
#include "engine/tensorrt_llm/sequence.hpp"

namespace ridgeline::engine::tensorrt_llm {

/// Requests selected that wait for KV get their blocks, and leave the selection.
void Scheduler::start_loads() {
  std::erase_if(selection_.fitting, [this](Sequence* const sequence) {
    if (!sequence->loads || sequence->holds_blocks) {
      return false;
    }
    const std::int64_t found = kv_.start(*sequence);
    const std::int64_t blocks = kv_.blocks_of(sequence->context_tokens);
    sequence->holds_blocks = true;
    ++num_.started;
    std::erase(singles_, sequence);
    apart_.loading.push_back(sequence);
    apart_.starts.push_back({.request = sequence->record.id,
                             .blocks = core::Blocks(blocks - found / options_.block_size.value())});
    return true;
  });
}

void Scheduler::finish_load(LoadId id, bool arrived) {
  const auto found = std::ranges::find(
      apart_.loading, id.request, [](const Sequence* sequence) { return sequence->record.id; });
  if (found == apart_.loading.end()) {
    return;  // Its client has given up.
  }
  Sequence* const sequence = *found;
  apart_.loading.erase(found);
  has_changed_ = true;
  if (!arrived) {
    apart_.failed.push_back(remove(*sequence));
    return;
  }
  sequence->loads = false;
  sequence->position = sequence->context_tokens;
  kv_.store(*sequence, sequence->context_tokens, false);
  singles_.insert(std::ranges::upper_bound(singles_, sequence->place, {}, &Sequence::place),
                  sequence);
}

void Scheduler::release_blocks(core::RequestId id) {
  const auto found = std::ranges::find(
      apart_.held, id, [](const RequestPtr& request) { return request->record.id; });
  if (found == apart_.held.end()) {
    return;
  }
  const RequestPtr sequence = std::exchange(*found, nullptr);
  apart_.held.erase(found);
  has_changed_ = true;
  release(*sequence);
}

std::vector<engine::SequencePtr> Scheduler::take_failed() {
  const std::vector<RequestPtr> failed = std::exchange(apart_.failed, {});
  return {failed.begin(), failed.end()};
}

std::vector<engine::SequencePtr> Scheduler::drain() {
  std::vector<engine::SequencePtr> inside = QueueScheduler::drain();
  for (const RequestPtr& request : std::exchange(apart_.held, {})) {
    release(*request);
  }
  return inside;
}

}  // namespace ridgeline::engine::tensorrt_llm
