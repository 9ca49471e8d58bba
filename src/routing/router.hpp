#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "domain/prompt.hpp"
#include "domain/request.hpp"
#include "routing/predictor.hpp"

namespace ridgeline::routing {

/// What the gateway counts itself of the requests that it has sent to one instance. It learns of a
/// first token or an end one notice latency late.
struct OwnCounters {
  std::int64_t requests = 0;  ///< Sent and not known to have ended.
  std::int64_t tokens = 0;    ///< Their prompt tokens.
  /// Tokens believed to be uncached, of requests without a known first token.
  std::int64_t prefill_tokens = 0;

  friend bool operator==(const OwnCounters&, const OwnCounters&) = default;
};

/// What an instance publishes of itself.
struct Gauges {
  std::int64_t waiting = 0;  ///< Requests in the engine's queue.
  std::int64_t running = 0;  ///< Requests that hold a seat.
  double kv_usage = 0.0;     ///< Used share of the KV blocks, 0 to 1.

  friend bool operator==(const Gauges&, const Gauges&) = default;
};

/// What a gateway knows of one instance, each part with the instant at which it was true. All that
/// a router may look at.
struct InstanceView {
  core::InstanceId id;
  OwnCounters own = {};  ///< As of the decision.
  Gauges gauges = {};
  core::SimTime gauges_as_of = {};
  /// Leading tokens of this prompt in the instance's KV cache, as its KV events tell.
  std::int64_t cached_tokens = 0;
  core::SimTime cache_as_of = {};
  /// Requests at the instance or on their way there, now. No gateway knows it.
  std::int64_t true_requests = 0;
  double weight = 1.0;  ///< Its share of the load against the others', as configured.
};

/// Which parts of a view a router reads. What is not needed is not kept.
struct Needs {
  bool own = false;
  bool first_token = false;  ///< Own counters of prefill tokens.
  bool gauges = false;
  bool cache = false;  ///< InstanceView::cached_tokens.
  bool tiers = false;  ///< RouteInput::tiers, where there are tiers.
  bool truth = false;

  /// Whether the router can decide without a word from any instance.
  [[nodiscard]] constexpr bool nothing() const { return !ends() && !gauges && !cache; }
  /// Whether it must learn when requests end or get their first token.
  [[nodiscard]] constexpr bool ends() const { return own || first_token || truth; }
};

/// Leading tokens of a prompt whose KV is kept outside an instance's GPUs, whether they have it
/// too.
struct TierTokens {
  std::int64_t host = 0;
  std::int64_t disk = 0;    ///< Not in host memory.
  std::int64_t shared = 0;  ///< In a store that all instances share, wherever else they are.

  friend bool operator==(const TierTokens&, const TierTokens&) = default;
};

/// Where an instance stands: numbers of its host and of what holds that, level by level; -1 where
/// that is not known. Instances with equal numbers share the level.
struct Site {
  std::int64_t host = -1;
  std::int64_t rack = -1;
  std::int64_t zone = -1;
  std::int64_t region = -1;
};

/// What a request's latency should be, at most; zero where it has no target.
using LatencyTargets = Latency;

/// Targets less prediction: below zero the request would be late.
struct Headroom {
  double ttft_ms = 0.0;
  double tpot_ms = 0.0;

  [[nodiscard]] bool is_met() const { return ttft_ms >= 0.0 && tpot_ms >= 0.0; }
};

/// One decision to make. The request's output length is not part of it.
struct RouteInput {
  const domain::RequestView& request;
  const domain::Prompt& prompt;
  /// Those that may be chosen, in the order of their ids; at least one. Ids may be missing between
  /// them: what a policy remembers of instances goes by id, not by place.
  std::span<const InstanceView> instances;
  core::SimTime now;
  /// Tiers of each instance, as KV events tell; empty where no KV is kept outside the GPUs, or the
  /// policy does not need it.
  std::span<const TierTokens> tiers = {};
  /// Where there is one, a policy that scores puts in the score of each instance.
  std::vector<double>* scores = nullptr;
  /// The request's group, among instances that serve different models (routing/by_group.hpp).
  std::uint32_t group = 0;
  bool is_weighted = false;     ///< Instances differ in weight.
  LatencyTargets targets = {};  ///< The request's.
  /// By instance id, over all of the cluster; empty where that is not known.
  std::span<const Site> sites = {};
  /// Where prefill and decode are apart, the instance already chosen for the request's other leg.
  core::InstanceId other_leg = {};

  /// One more than the highest id among them: room for what is remembered of each.
  [[nodiscard]] std::size_t id_room() const { return std::size_t{instances.back().id.value()} + 1; }
};

/// What decided.
enum class Reason : std::uint8_t {
  kScore,    ///< The best of a sum of several things.
  kTurn,     ///< The next one.
  kDraw,     ///< A draw of all.
  kSession,  ///< The request's session.
  kPrefix,   ///< Where its prompt was, or is.
  kLoad,     ///< The least busy.
  kFilter,   ///< A filter left no instance: the request is refused.
};
inline constexpr std::size_t kNumReasons = 7;
/// "score", "turn", ...
[[nodiscard]] constexpr std::string_view name(Reason reason) {
  constexpr std::array<std::string_view, kNumReasons> kNames = {
      "score", "turn", "draw", "session", "prefix", "load", "filter"};
  return kNames[static_cast<std::size_t>(reason)];
}

struct Pick {
  core::InstanceId instance;  ///< None: the request is refused (Reason::kFilter).
  std::uint32_t equals = 1;   ///< Instances that were as good; the draw was among them.
  /// What the router believes is left to compute of the prompt there; -1: all of it.
  std::int64_t uncached_tokens = -1;
  Reason reason = Reason::kScore;

  [[nodiscard]] bool is_refusal() const { return !instance.valid(); }
};

/// Decides which instance gets a request. May remember its own decisions; knows nothing else but
/// what it is handed.
class Router {
 public:
  Router() = default;
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;
  virtual ~Router() = default;

  [[nodiscard]] virtual Needs needs() const = 0;
  /// Draws, where it must, from `draws`, a stream of this decision alone.
  [[nodiscard]] virtual Pick pick(const RouteInput& input, core::RngStream& draws) = 0;
  /// By how much the request would meet its targets at each instance, as pick() sees it; empty of a
  /// policy that predicts nothing.
  [[nodiscard]] virtual std::vector<Headroom> headroom(const RouteInput& input) {
    static_cast<void>(input);
    return {};
  }
  /// The request was sent to that instance.
  virtual void on_dispatch(const RouteInput& input, core::InstanceId instance) {
    static_cast<void>(input);
    static_cast<void>(instance);
  }
  /// The instance is gone for good: an id that comes again is another instance.
  virtual void on_gone(core::InstanceId instance) { static_cast<void>(instance); }
  /// A hint that on_end() may follow for that request (core/fetch.hpp).
  virtual void expect(core::RequestId request) { static_cast<void>(request); }
  /// The gateway learns that a request has ended there. Only where needs().own.
  virtual void on_end(core::RequestId request, core::InstanceId instance) {
    static_cast<void>(request);
    static_cast<void>(instance);
  }
};

}  // namespace ridgeline::routing
