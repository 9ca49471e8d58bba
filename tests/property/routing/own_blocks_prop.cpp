// Routers that remember prompts keep the blocks that only one request has as one row, until a
// prompt may have them too. The plain twin gives every block its key from the start: both choose
// alike, whatever is shared, quoted or sent again.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/prompt.hpp"
#include "domain/request.hpp"
#include "routing/parameters.hpp"
#include "routing/router.hpp"
#include "support/routers.hpp"

namespace ridgeline::routing {
namespace {

struct Sent {
  domain::RequestView request;
  domain::Prompt prompt;
  core::InstanceId instance = {};
};

/// One router, with draws of each request alone.
class Driven {
 public:
  explicit Driven(std::unique_ptr<Router> router) : router_(std::move(router)) {}

  Pick send(const Sent& sent, const std::vector<InstanceView>& views) {
    const RouteInput input{
        .request = sent.request, .prompt = sent.prompt, .instances = views, .now = {}};
    core::RngStream draws(1, 0, "routing", sent.request.id.value());
    const Pick pick = router_->pick(input, draws);
    router_->on_dispatch(input, pick.instance);
    return pick;
  }
  void end(const Sent& sent) { router_->on_end(sent.request.id, sent.instance); }

 private:
  std::unique_ptr<Router> router_;
};

Sent one_token(std::uint64_t content) {
  Sent sent;
  sent.request.id = core::RequestId(0);
  sent.request.prompt_tokens = core::Tokens(1);
  sent.prompt = {{content, core::Tokens(1)}};
  return sent;
}

/// A prompt of shared content, of an earlier request's own, or neither, and tokens of its own.
Sent random_prompt(const std::vector<Sent>& earlier, bool quotes) {
  Sent sent;
  std::int64_t tokens = *rc::gen::inRange<std::int64_t>(1, 200);
  if (quotes && !earlier.empty() && *rc::gen::inRange(0, 4) == 0) {
    const Sent& quoted = earlier[*rc::gen::inRange<std::size_t>(0, earlier.size())];
    sent.prompt = quoted.prompt;
    std::int64_t stated = 0;
    for (const domain::Segment& segment : quoted.prompt) {
      stated += segment.length.value();
    }
    const std::int64_t own = quoted.request.prompt_tokens.value() - stated;
    if (own > 0) {
      sent.prompt.push_back({domain::unique_content(quoted.request.id), core::Tokens(own)});
    }
    tokens += stated + own;
  } else if (*rc::gen::arbitrary<bool>()) {
    const std::int64_t length = *rc::gen::element<std::int64_t>(8, 32, 100);
    sent.prompt = {{*rc::gen::inRange<std::uint64_t>(1, 4), core::Tokens(length)}};
    tokens += length;
  }
  sent.request.prompt_tokens = core::Tokens(tokens);
  return sent;
}

/// Two of the same router.
struct Pair {
  Driven fast;
  Driven plain;
};

Pair random_pair() {
  const std::int64_t memory = *rc::gen::element<std::int64_t>(5, 40, 200, 31'250);
  const std::int64_t tokens = *rc::gen::element<std::int64_t>(8, 16, 64);
  const RouterSetup setup{
      .parameters = {{.name = "lruCapacityPerServer", .value = document::Node::integer(memory, {})},
                     {.name = "blockSizeTokens", .value = document::Node::integer(tokens, {})}}};
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      return {.fast = Driven(maker_of("dynamo")({})), .plain = Driven(maker_of("dynamo")({}))};
    case 1:
      return {.fast = Driven(maker_of("llm-d")(setup)), .plain = Driven(maker_of("llm-d")(setup))};
    default:
      return {.fast = Driven(maker_of("llm-d-sticky")(setup)),
              .plain = Driven(maker_of("llm-d-sticky")(setup))};
  }
}

RC_GTEST_PROP(OwnBlocks, ChooseAsBlocksWithKeysDo, ()) {
  Pair pair = random_pair();
  std::vector<InstanceView> views(*rc::gen::inRange<std::size_t>(1, 70));
  for (std::size_t i = 0; i < views.size(); ++i) {
    views[i].id = core::InstanceId(static_cast<core::InstanceId::Rep>(i));
  }
  // A prompt that quotes a request that does not exist gives all blocks keys.
  Sent first = one_token(7);
  Sent quote = one_token(domain::unique_content(core::RequestId(1'000'000)));
  first.instance = pair.fast.send(first, views).instance;
  quote.instance = pair.plain.send(quote, views).instance;
  RC_ASSERT(first.instance == quote.instance);
  pair.fast.end(first);
  pair.plain.end(quote);

  const bool quotes = *rc::gen::arbitrary<bool>();
  std::vector<Sent> all;
  std::vector<Sent> in_flight;
  const int count = *rc::gen::inRange(1, 60);
  for (int i = 0; i < count; ++i) {
    Sent next = random_prompt(all, quotes);
    next.request.id = core::RequestId(static_cast<core::RequestId::Rep>(all.size() + 1));
    if (!all.empty() && *rc::gen::inRange(0, 100) == 0) {
      next = all.back();  // Sent again.
    }
    const Pick pick = pair.fast.send(next, views);
    const Pick other = pair.plain.send(next, views);
    RC_ASSERT(pick.instance == other.instance);
    RC_ASSERT(pick.equals == other.equals);
    RC_ASSERT(pick.uncached_tokens == other.uncached_tokens);
    next.instance = pick.instance;
    views[pick.instance.value()].own.requests += 1;
    views[pick.instance.value()].own.prefill_tokens += pick.uncached_tokens;
    all.push_back(next);
    in_flight.push_back(next);
    while (!in_flight.empty() && *rc::gen::inRange(0, 3) == 0) {
      const auto place = *rc::gen::inRange<std::size_t>(0, in_flight.size());
      pair.fast.end(in_flight[place]);
      pair.plain.end(in_flight[place]);
      in_flight.erase(in_flight.begin() + static_cast<std::ptrdiff_t>(place));
    }
  }
}

}  // namespace
}  // namespace ridgeline::routing
