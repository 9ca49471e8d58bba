// The scheduler's pool of KV: pages that requests hold, and what enters and leaves the tree.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/check.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/radix_cache.hpp"
#include "engine/sglang/request.hpp"
#include "engine/sglang/scheduler.hpp"

namespace ridgeline::engine::sglang {

/// Slots that steps in flight fill behind the tokens that are known, where they are freed when
/// those steps end.
std::int64_t Scheduler::slots_in_flight(const Sequence& request) const {
  const std::int64_t known = std::max(request.num_tokens() - 1, request.fill_len);
  return settings_.rules.keeps_delayed_token ? 0
                                             : std::max<std::int64_t>(request.kv_len - known, 0);
}

std::int64_t Scheduler::private_tokens() const {
  return settings_.max_total_num_tokens / settings_.page_size * settings_.page_size -
         free_tokens() - tree_.evictable() - tree_.protected_size();
}

/// Evicts where fewer tokens are free: as many as are missing, or in versions without
/// evicts_shortfall as many as are asked for (evict_from_tree_cache).
void Scheduler::make_room(std::int64_t tokens) {
  if (settings_.disable_radix_cache || free_tokens() >= tokens) {
    return;
  }
  const std::int64_t wanted = settings_.rules.evicts_shortfall ? tokens - free_tokens() : tokens;
  const std::int64_t evicted = tree_.evict(wanted);
  free_pages_ += evicted / settings_.page_size;
  backed_up_ += tree_.take_moved();
  iteration_.evicted_tokens += evicted;
}

void Scheduler::extend_kv(Sequence& request, std::int64_t tokens) {
  const std::int64_t before = pages(request.kv_len);
  request.kv_len += tokens;
  free_pages_ -= pages(request.kv_len) - before;
  RIDGELINE_CHECK(free_pages_ >= 0, "the pool gives no page that it has not");
}

/// What the tree holds of its tokens, one less at most (init_next_round_input).
void Scheduler::match_prefix(Sequence& request) {
  if (!settings_.disable_radix_cache) {
    const RadixCache::Match match =
        tree_.match(request.keys, request.num_keys(request.num_tokens() - 1), request.salt);
    request.prefix_len = match.length;
    request.node = match.node;
    request.host_len = match.host_length;
    request.host_node = match.host_node;
    const std::int64_t on_grid = match.kv_length / settings_.state_grid * settings_.state_grid;
    request.fork_len = on_grid > match.length + match.host_length ? on_grid : 0;
    if (settings_.state_slots > 0 && match.length > 0 && !request.has_state) {
      // Its state is copied into a slot of the request's. What is found stays meanwhile.
      TreeNode* const last =
          match.host_node != nullptr ? missing_of(*match.host_node).from : nullptr;
      if (last != nullptr) {
        tree_.pin(*match.host_node);
        tree_.lock(last);
      }
      tree_.lock(match.node);
      take_state();
      tree_.unlock(match.node);
      if (last != nullptr) {
        tree_.unlock(last);
        tree_.pin(*match.host_node, false);
      }
      request.has_state = true;
    }
  }
  request.extend_len = request.num_tokens() - request.prefix_len - request.host_len;
}

void Scheduler::take_state() {
  shed_states(1);
  tree_.states().take();
}

/// Evicts states until so many slots are free, or none can be.
void Scheduler::shed_states(std::int64_t wanted) {
  while (tree_.states().free() < wanted && tree_.states().evictable() > 0) {
    const std::int64_t evicted = tree_.evict_state();
    free_pages_ += evicted / settings_.page_size;
    iteration_.evicted_tokens += evicted;
  }
}

void Scheduler::give_state(Sequence& request) {
  if (std::exchange(request.has_state, false)) {
    tree_.states().give();
  }
  for (; request.buffers > 0; --request.buffers) {
    tree_.states().give();
  }
  request.tracked = 0;
}

/// A prefill step keeps the state at the last multiple of the grid in what it computes, or at a
/// fork that lies in it.
void Scheduler::track_prefill(Sequence& request) {
  const std::int64_t grid = settings_.state_grid;
  if (request.extend_len < grid) {
    return;
  }
  request.tracked = request.prefix_len + request.extend_len / grid * grid;
  const std::int64_t fork = request.fork_len - request.prefix_len;
  if (fork > 0 && fork < request.extend_len && fork % grid == 0) {
    request.tracked = request.fork_len;
  }
}

/// Tokens up to the last state that a request has kept as it ends, of the first `kept`; 0: none.
std::int64_t Scheduler::tracked_at_end(const Sequence& request, std::int64_t kept) const {
  const std::int64_t step = settings_.state_track;
  const std::int64_t computed =
      settings_.speculation.is_on() ? request.committed : request.num_tokens() - 1;
  std::int64_t last = computed / step * step;
  if (last > kept && settings_.state_buffers > 1) {
    last -= step;
  }
  last = last > request.fill_len ? last : request.tracked;
  return last <= kept ? last : 0;
}

/// What the host has of a request's prompt comes back, where it is worth it and there is room;
/// else it is computed again.
void Scheduler::load_back(Sequence& request) {
  constexpr std::int64_t kLeast = 10;  // load_back_threshold
  const std::int64_t tokens = std::exchange(request.host_len, 0);
  const Missing missing = missing_of(*request.host_node);
  if (tokens < kLeast) {
    request.extend_len += tokens;
    return;
  }
  tree_.pin(*request.host_node);
  tree_.lock(missing.from);
  if (missing.state) {
    shed_states(1);
  }
  const bool has_slot = !missing.state || tree_.states().free() > 0;
  if (!has_slot || free_tokens() + tree_.evictable() < missing.tokens) {
    tree_.unlock(missing.from);
    tree_.pin(*request.host_node, false);
    request.extend_len += tokens;
    return;
  }
  make_room(missing.tokens);
  free_pages_ -= missing.tokens / settings_.page_size;
  tree_.load(request.host_node);
  tree_.lock(request.host_node);
  tree_.unlock(missing.from);
  copies_.push_back(
      {.node = request.host_node, .ends = num_iterations_ + settings_.host.load_iterations});
  tree_.unlock(request.node);
  request.node = request.host_node;
  tree_.lock(request.node);
  request.prefix_len += tokens;
  request.tree_len += tokens;
  request.kv_len += tokens;
  iteration_.loaded_back += missing.tokens;
  iteration_.loaded_states += missing.state ? 1 : 0;
}

/// Copies between GPU and host: those that have ended let go of their nodes.
void Scheduler::end_copies() {
  ++num_iterations_;
  std::erase_if(copies_, [this](const Copy& copy) {
    const bool ends = copy.ends <= num_iterations_;
    if (ends) {
      tree_.unlock(copy.node);
    }
    return ends;
  });
}

/// Copies to the host that what was entered into the tree asks for: one, at the end of an iteration
/// that processes results.
void Scheduler::start_writes() {
  for (const RadixCache::Write& write : tree_.take_writes()) {
    copies_.push_back(
        {.node = write.node, .ends = num_iterations_ + settings_.host.write_iterations});
    backed_up_ += write.tokens;
  }
}

/// Keeps what match_prefix() found: from now on the request holds it.
void Scheduler::lock(Sequence& request) {
  request.tree_len = request.prefix_len;
  request.kv_len = request.prefix_len;
  if (request.node != nullptr) {
    tree_.lock(request.node);
  }
}

void Scheduler::unlock(Sequence& request) {
  if (request.node != nullptr) {
    tree_.unlock(request.node);
  }
  request.node = nullptr;
  request.tree_len = 0;
  request.kv_len = 0;
}

/// The KV up to the end of its last prefill step enters the tree; what is there already is freed,
/// and the request uses the tree's.
void Scheduler::cache_unfinished(Sequence& request, bool is_chunk) {
  request.prefix_len = request.fill_len;
  if (settings_.disable_radix_cache) {
    return;
  }
  const bool has_state = settings_.state_slots > 0;
  std::int64_t end = request.fill_len;
  if (settings_.state_buffers > 0) {
    end = std::exchange(request.tracked, 0);
    if (end == 0) {
      return;  // What it has computed stays its own until there is a state behind it.
    }
  }
  const std::int64_t whole = whole_pages(request.num_keys(end));
  if (has_state) {
    take_state();  // The tree gets a copy of the request's.
  }
  const std::int64_t known = tree_.insert(request.keys,
                                          whole,
                                          {.salt = request.salt,
                                           .priority = request.priority,
                                           .is_chunk = is_chunk,
                                           .counted = request.counted,
                                           .has_state = has_state});
  request.counted = whole;
  free_pages_ += (known - request.tree_len) / settings_.page_size;
  const RadixCache::Match match = tree_.match(request.keys, whole, request.salt);
  RIDGELINE_CHECK(match.length == whole, "what was entered is found");
  if (request.node != nullptr) {
    tree_.unlock(request.node);
  }
  tree_.lock(match.node);
  request.node = match.node;
  request.tree_len = whole;
}

/// Tokens whose KV is final when a request with drafts ends.
std::int64_t Scheduler::kept_of_drafts(const Sequence& request) const {
  const std::int64_t end = request.num_prompt_tokens + request.stop_after;
  return settings_.rules.trims_drafts ? std::min(request.committed, end) : request.committed;
}

/// A request has ended: prompt and outputs that have KV enter the tree, the rest is freed.
void Scheduler::cache_finished(Sequence& request) {
  request.is_finished = true;
  running_.some_finished = true;
  const bool keeps_all = settings_.rules.keeps_delayed_token;
  const std::int64_t kept = settings_.speculation.is_on() ? kept_of_drafts(request)
                            : keeps_all ? std::min(request.kv_len, request.num_tokens())
                                        : request.num_tokens() - 1;
  const std::int64_t held = keeps_all ? request.kv_len : kept;
  // Slots behind it are freed when the steps that fill them end.
  request.delayed = request.kv_len - held;
  if (settings_.disable_radix_cache || request.loads) {  // A decode server has no tree.
    give_state(request);
    free_pages_ += pages(held);
    unlock(request);
    return;
  }
  std::int64_t cached = kept;
  bool has_state = std::exchange(request.has_state, false);
  if (settings_.state_buffers > 0) {
    cached = tracked_at_end(request, kept);
    request.has_state = std::exchange(has_state, cached > 0);
    request.buffers -= has_state ? 1 : 0;  // The tree gets it.
    give_state(request);
  }
  const std::int64_t whole = whole_pages(request.num_keys(cached));
  const std::int64_t known =
      tree_.insert(request.keys,
                   whole,
                   {.salt = request.salt,
                    .priority = request.priority,
                    .counted = request.counted,
                    .cut = settings_.rules.parts_outputs && settings_.state_slots == 0
                               ? whole_pages(request.num_keys(request.num_prompt_tokens))
                               : 0,
                    .has_state = has_state});
  free_pages_ += (known - request.tree_len) / settings_.page_size;
  free_pages_ += pages(held) - whole / settings_.page_size;
  unlock(request);
}

void Scheduler::free_delayed(Sequence& request, const ScheduledSequence& part) {
  if (request.delayed == 0 || part.is_prefill) {
    return;  // A prefill's slots are not behind the tokens that are known.
  }
  --request.delayed;
  free_pages_ += part.num_computed_tokens % settings_.page_size == 0 ? 1 : 0;
}

/// Gives back all that a request holds; nothing of it enters the tree.
void Scheduler::release(Sequence& request) {
  give_state(request);
  request.delayed = slots_in_flight(request);
  free_pages_ += pages(request.kv_len - request.delayed) - request.tree_len / settings_.page_size;
  unlock(request);
  request.prefix_len = 0;
  request.extend_len = 0;
  request.fill_len = 0;
}

}  // namespace ridgeline::engine::sglang
