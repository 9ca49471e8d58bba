// Generations, the part for responses that are streamed in the background: vLLM keeps the events of
// each, and clients read them from any number on (serving_responses.py, from memory). Here nothing
// is kept but what the events follow from, and each client's are written anew.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/generation.hpp"
#include "serve/generations.hpp"
#include "serve/net/connection.hpp"

namespace ridgeline::serve {
Generation stream_of(const Generation& source) {
  Generation copy;
  copy.head = source.head;
  copy.is_streamed = true;
  copy.is_follower = true;
  copy.is_tool_call = source.is_tool_call;
  copy.logprobs = source.logprobs;
  copy.prompt_tokens = source.prompt_tokens;
  copy.prompt_ids = source.prompt_ids;
  copy.cached_tokens = source.cached_tokens;
  copy.choices = source.choices;
  return copy;
}

Generation* Generations::in_background(std::string_view id) {
  const auto found = std::ranges::find_if(slots_, [&](const auto& generation) {
    return generation->serial != 0 && generation->connection == nullptr &&
           generation->head.id == id;
  });
  return found == slots_.end() ? nullptr : found->get();
}

bool Generations::follow(std::string_view id,
                         net::Connection& connection,
                         std::int64_t events_to_skip) {
  const Generation* const source = in_background(id);
  Generation copy;
  if (source != nullptr && source->is_streamed_in_background) {
    copy = stream_of(*source);
  } else if (const auto kept = responses_.find(id, settings_.version);
             source == nullptr && kept && (*kept)->stream != nullptr) {
    copy = stream_of(*(*kept)->stream);
    copy.is_due = true;
  } else {
    return false;
  }
  copy.events_to_skip = events_to_skip;
  Generation& own = take_slot(&connection, std::move(copy));
  for (ChoiceState& choice : own.choices) {
    writer_.write(own, choice);
  }
  if (own.is_due) {
    finish(own);
  }
  return true;
}

std::vector<Generations::Ref> Generations::followers_of(const Generation& source) const {
  std::vector<Ref> refs;
  for (const auto& generation : slots_) {
    if (generation->serial != 0 && generation->is_follower && !generation->is_due &&
        generation->head.id == source.head.id) {
      refs.push_back({.slot = generation->slot, .choice = 0, .serial = generation->serial});
    }
  }
  return refs;
}

/// What has become due of it.
void Generations::pass_on(const Generation& source) {
  for (const Ref& ref : followers_of(source)) {
    Generation& follower = *find(ref);
    for (std::size_t i = 0; i < source.choices.size(); ++i) {
      follower.choices[i].released = source.choices[i].released;
      writer_.write(follower, follower.choices[i]);
    }
  }
}

void Generations::end_followers(const Generation& source) {
  for (const Ref& ref : followers_of(source)) {
    Generation& follower = *find(ref);
    follower.cached_tokens = source.cached_tokens;
    for (std::size_t i = 0; i < source.choices.size(); ++i) {
      follower.choices[i].released = source.choices[i].released;
      follower.choices[i].length = source.choices[i].length;
      follower.choices[i].finish = source.choices[i].finish;
    }
    follower.is_due = true;
    finish(follower);
  }
}

/// Its streams end where they are.
void Generations::cut_followers(const Generation& source) {
  for (const Ref& ref : followers_of(source)) {
    Generation& follower = *find(ref);
    net::Connection& connection = *follower.connection;
    const bool has_begun = follower.has_begun;
    release(follower);
    if (has_begun) {
      connection.end_stream();
    } else {
      connection.kill();
    }
    touch_(connection);
  }
}

}  // namespace ridgeline::serve
