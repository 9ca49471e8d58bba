#include "api/policies.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cluster/scaling/scaler.hpp"
#include "core/result.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"
#include "ridgeline.h"
#include "routing/router.hpp"
#include "sim/simulation.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::api {
namespace {

constexpr const char* kRouter = "router";
constexpr const char* kStepModel = "step_model";
constexpr const char* kAutoscaler = "autoscaler";
constexpr const char* kFailed = "failed";

/// What policies share: the host's functions, and what one of them did that ends the run. From then
/// on each answers without the host, until the run hears of it.
class Asked {
 public:
  Asked(const rl_hooks& hooks, std::optional<core::Error>& failure)
      : hooks_(hooks), failure_(failure) {}

  [[nodiscard]] const rl_hooks& hooks() const { return hooks_; }
  [[nodiscard]] bool failed() const { return failure_.has_value(); }
  void fail(const char* policy, std::string message) const {
    if (!failure_) {
      failure_ = {.field = policy, .message = std::move(message)};
    }
  }

 private:
  const rl_hooks& hooks_;
  std::optional<core::Error>& failure_;
};

double age(core::SimTime now, core::SimTime as_of) {
  return (now - as_of).to_seconds();
}

class HostRouter final : public routing::Router {
 public:
  explicit HostRouter(const Asked& asked) : asked_(asked) {}

  [[nodiscard]] routing::Needs needs() const override {
    return {.own = true,
            .first_token = true,
            .gauges = true,
            .cache = asked_.hooks().router_reads_cache != 0};
  }

  [[nodiscard]] routing::Pick pick(const routing::RouteInput& input,
                                   core::RngStream& /*draws*/) override {
    if (asked_.failed()) {
      return first(input);
    }
    look(input);
    rl_route route = {.size = sizeof(rl_route),
                      .now_s = input.now.to_seconds(),
                      .id = static_cast<std::int64_t>(input.request.id.value()),
                      .arrival_s = input.request.arrival.to_seconds(),
                      .prompt_tokens = input.request.prompt_tokens.value(),
                      .max_tokens = input.request.max_tokens.value(),
                      .priority = input.request.priority,
                      .session = input.request.session.valid()
                                     ? static_cast<std::int64_t>(input.request.session.value())
                                     : -1,
                      .num_instances = static_cast<std::int64_t>(instances_.size()),
                      .instance_size = sizeof(rl_instance),
                      .instances = instances_.data(),
                      .choice = RL_FAILED};
    asked_.hooks().route(asked_.hooks().user, &route);
    if (route.choice == RL_REFUSE) {
      return {.instance = {}, .reason = routing::Reason::kFilter};
    }
    if (route.choice == RL_FAILED) {
      return failed(input, kFailed);
    }
    if (route.choice < 0 || route.choice >= route.num_instances) {
      return failed(input,
                    fmt::format("found {} for request {}, expected an index from 0 to {}, or -1 to "
                                "refuse it",
                                route.choice,
                                route.id,
                                route.num_instances - 1));
    }
    return {.instance = input.instances[static_cast<std::size_t>(route.choice)].id,
            .reason = routing::Reason::kScore};
  }

 private:
  static routing::Pick first(const routing::RouteInput& input) {
    return {.instance = input.instances.front().id, .reason = routing::Reason::kScore};
  }
  routing::Pick failed(const routing::RouteInput& input, std::string message) {
    asked_.fail(kRouter, std::move(message));
    return first(input);
  }

  void look(const routing::RouteInput& input) {
    instances_.resize(input.instances.size());
    for (std::size_t i = 0; i < instances_.size(); ++i) {
      const routing::InstanceView& view = input.instances[i];
      instances_[i] = {.id = static_cast<std::int64_t>(view.id.value()),
                       .requests = view.own.requests,
                       .tokens = view.own.tokens,
                       .prefill_tokens = view.own.prefill_tokens,
                       .waiting = view.gauges.waiting,
                       .running = view.gauges.running,
                       .kv_used = view.gauges.kv_usage,
                       .age_s = age(input.now, view.gauges_as_of),
                       .cached_tokens = view.cached_tokens,
                       .cache_age_s = age(input.now, view.cache_as_of),
                       .weight = view.weight};
    }
  }

  Asked asked_;
  std::vector<rl_instance> instances_;
};

std::string batch_text(const rl_step& step) {
  std::string text =
      fmt::format("{} decodes with {} tokens of context", step.num_decodes, step.decode_context);
  for (std::int64_t i = 0; i < step.num_prefills; ++i) {
    constexpr std::int64_t kShown = 4;
    if (i == kShown) {
      return text + fmt::format(" and {} more prompt chunks", step.num_prefills - kShown);
    }
    text += fmt::format(", a prompt chunk {}+{}", step.prefill_past[i], step.prefill_new[i]);
  }
  return text;
}

/// Seconds as a model says them; nothing where one of them is no time.
std::optional<domain::StepTime> step_time(const double (&seconds)[4], double cpu_seconds) {
  domain::StepTime time;
  for (std::size_t kind = 0; kind < domain::kNumBottlenecks; ++kind) {
    const auto part = core::Duration::from_seconds(seconds[kind]);
    if (!part) {
      return std::nullopt;
    }
    time.by_bottleneck[kind] = *part;
  }
  const auto cpu = core::Duration::from_seconds(cpu_seconds);
  if (!cpu) {
    return std::nullopt;
  }
  time.cpu = *cpu;
  return time;
}

/// The first of these that is no time.
double wrong_one(const double (&seconds)[4], double cpu_seconds, double per_token = 0.0) {
  for (const double one : seconds) {
    if (!core::Duration::from_seconds(one)) {
      return one;
    }
  }
  return core::Duration::from_seconds(cpu_seconds) ? per_token : cpu_seconds;
}

std::string wrong_time(double seconds, const std::string& batch) {
  return fmt::format("found {} seconds for {}, expected a number from 0 to {}",
                     seconds,
                     batch,
                     core::SimTime::last().to_seconds());
}

/// A host's model. One run on one thread has it.
class HostModel final : public latency::StepTimeModel {
 public:
  explicit HostModel(const Asked& asked) : asked_(asked) {}

  [[nodiscard]] domain::StepTime predict(const domain::StepBatch& batch) const override {
    if (asked_.failed()) {
      return kFallback;
    }
    if (batch.prefills.empty()) {
      if (const auto known = affine(batch.num_decodes, batch.decode_context)) {
        return known->at(batch.decode_context);
      }
    }
    past_.clear();
    new_.clear();
    for (const domain::PrefillChunk& chunk : batch.prefills) {
      past_.push_back(chunk.past.value());
      new_.push_back(chunk.new_tokens.value());
    }
    lengths_.clear();
    if (needs_decode_lengths()) {
      for (const core::Tokens length : batch.decode_lengths) {
        lengths_.push_back(length.value());
      }
    }
    rl_step step = {.size = sizeof(rl_step),
                    .num_decodes = batch.num_decodes,
                    .decode_context = batch.decode_context.value(),
                    .decode_lengths = needs_decode_lengths() ? lengths_.data() : nullptr,
                    .num_prefills = static_cast<std::int64_t>(past_.size()),
                    .prefill_past = past_.data(),
                    .prefill_new = new_.data(),
                    .seconds = {},
                    .cpu_seconds = 0.0,
                    .ok = 0};
    asked_.hooks().predict(asked_.hooks().user, &step);
    const auto time = step.ok == 1 ? step_time(step.seconds, step.cpu_seconds) : std::nullopt;
    if (!time) {
      asked_.fail(kStepModel,
                  step.ok == 1
                      ? wrong_time(wrong_one(step.seconds, step.cpu_seconds), batch_text(step))
                      : kFailed);
    }
    return time.value_or(kFallback);
  }

  [[nodiscard]] std::optional<domain::AffineStep> affine(std::int64_t num_decodes,
                                                         core::Tokens /*context*/) const override {
    if (asked_.hooks().affine == nullptr || asked_.failed()) {
      return std::nullopt;
    }
    const auto known = affine_.find(num_decodes);
    if (known != affine_.end()) {
      return known->second;
    }
    rl_affine asked = {.size = sizeof(rl_affine),
                       .num_decodes = num_decodes,
                       .seconds = {},
                       .cpu_seconds = 0.0,
                       .seconds_per_token = 0.0,
                       .ok = 0};
    asked_.hooks().affine(asked_.hooks().user, &asked);
    constexpr int kNoClosedForm = 2;
    std::optional<domain::AffineStep> found;
    const auto base = asked.ok == 1 ? step_time(asked.seconds, asked.cpu_seconds) : std::nullopt;
    const auto slope = core::Duration::from_seconds(asked.seconds_per_token);
    if (base && slope) {
      found = {.base = *base,
               .slope = *slope,
               .slope_kind = domain::Bottleneck::kMemory,
               .lowest = core::Tokens(0),
               .highest = kLongest};
    } else if (asked.ok != kNoClosedForm) {
      asked_.fail(
          kStepModel,
          asked.ok == 1
              ? wrong_time(wrong_one(asked.seconds, asked.cpu_seconds, asked.seconds_per_token),
                           fmt::format("{} decodes, in closed form", num_decodes))
              : kFailed);
    }
    affine_.emplace(num_decodes, found);
    return found;
  }

  [[nodiscard]] bool needs_decode_lengths() const override {
    return asked_.hooks().model_reads_lengths != 0;
  }

  [[nodiscard]] latency::Explanation explain(const domain::StepBatch& batch) const override {
    return {.total = predict(batch), .parts = {}, .hidden = {}, .rounding = {}};
  }

 private:
  /// Step time for the rest of a run that is about to end with an error.
  static constexpr domain::StepTime kFallback{.by_bottleneck = {core::Duration::milliseconds(1)},
                                              .cpu = {}};
  /// Above every sum of contexts of one batch: 65536 requests of 2^24 tokens.
  static constexpr core::Tokens kLongest{std::int64_t{1} << 40};

  Asked asked_;
  mutable std::map<std::int64_t, std::optional<domain::AffineStep>> affine_;
  mutable std::vector<std::int64_t> past_;
  mutable std::vector<std::int64_t> new_;
  mutable std::vector<std::int64_t> lengths_;
};

class HostScaler final : public scaling::Scaler {
 public:
  HostScaler(const Asked& asked, std::unique_ptr<scaling::Scaler> own)
      : asked_(asked), own_(std::move(own)) {}

  [[nodiscard]] core::SimTime next_decision(core::SimTime now) const override {
    return own_->next_decision(now);
  }

  [[nodiscard]] scaling::ScalePlan evaluate(const scaling::PoolHistory& history,
                                            core::SimTime now) override {
    if (asked_.failed()) {
      return {.replicas = history.replicas};
    }
    const scaling::PoolReading* const newest = history.newest();
    read_.clear();
    if (newest != nullptr) {
      for (const scaling::ReplicaReading& replica : newest->replicas) {
        read_.push_back({.id = static_cast<std::int64_t>(replica.id.value()),
                         .waiting = replica.waiting,
                         .running = replica.running,
                         .kv_used = replica.kv_usage,
                         .busy = replica.busy});
      }
    }
    rl_scale scale = {.size = sizeof(rl_scale),
                      .now_s = now.to_seconds(),
                      .reading_s = newest == nullptr ? -1.0 : newest->at.to_seconds(),
                      .replicas = history.replicas,
                      .ready = history.ready,
                      .min_replicas = history.min_replicas,
                      .max_replicas = history.max_replicas,
                      .held = newest == nullptr ? 0 : newest->held,
                      .arrivals = newest == nullptr ? 0 : newest->arrivals,
                      .num_read = static_cast<std::int64_t>(read_.size()),
                      .replica_size = sizeof(rl_replica),
                      .read = read_.data(),
                      .choice = RL_FAILED};
    asked_.hooks().scale(asked_.hooks().user, &scale);
    if (scale.choice < 0) {
      asked_.fail(
          kAutoscaler,
          scale.choice == RL_FAILED
              ? std::string(kFailed)
              : fmt::format(
                    "found {} replicas at {} s, expected 0 or more", scale.choice, scale.now_s));
      return {.replicas = history.replicas};
    }
    return {.replicas = scale.choice, .reason = "the host's policy"};
  }

 private:
  Asked asked_;
  std::unique_ptr<scaling::Scaler> own_;
  std::vector<rl_replica> read_;
};

/// The document with what stands at a path replaced, or added.
document::Node with(const document::Node& node, std::string_view path, document::Node value) {
  const auto dot = path.find('.');
  const std::string_view key = path.substr(0, dot);
  std::vector<document::Node::Member> members =
      node.is_map() ? node.members() : std::vector<document::Node::Member>();
  for (auto& member : members) {
    if (member.key == key) {
      member.value = dot == std::string_view::npos
                         ? std::move(value)
                         : with(member.value, path.substr(dot + 1), std::move(value));
      return document::Node::map(std::move(members), {});
    }
  }
  members.push_back({.key = std::string(key),
                     .value = dot == std::string_view::npos
                                  ? std::move(value)
                                  : with({}, path.substr(dot + 1), std::move(value)),
                     .where = {}});
  return document::Node::map(std::move(members), {});
}

}  // namespace

sim::HostParts HostPolicies::parts() {
  sim::HostParts parts;
  const Asked asked(hooks_, failure_);
  if (hooks_.predict != nullptr) {
    model_ = std::make_unique<HostModel>(asked);
    parts.step_time_model = model_.get();
  }
  if (hooks_.route != nullptr) {
    parts.make_router = [asked] { return std::make_unique<HostRouter>(asked); };
  }
  if (hooks_.scale != nullptr) {
    parts.make_scaler = [asked](std::unique_ptr<scaling::Scaler> own) {
      return std::make_unique<HostScaler>(asked, std::move(own));
    };
  }
  return parts;
}

void HostPolicies::tell(const document::Node& said, verbs::RunResult& result) const {
  struct Place {
    const char* policy;
    const char* path;
    bool is_given;
  };
  const std::array<Place, 3> places = {
      Place{kRouter, "cluster.router", hooks_.route != nullptr},
      Place{kStepModel, "latency", hooks_.predict != nullptr},
      Place{kAutoscaler, "cluster.autoscaling.name", hooks_.scale != nullptr}};
  std::string names;
  for (const Place& place : places) {
    if (!place.is_given) {
      continue;
    }
    names += std::string(names.empty() ? "" : ", ") + place.policy;
    const document::Node* const words = said.find(place.policy);
    result.config = with(
        result.config, place.path, words == nullptr ? document::Node::string("host", {}) : *words);
  }
  const auto class_of = [&](const char* policy) {
    const document::Node* const words = said.find(policy);
    const document::Node* const name = words == nullptr ? nullptr : words->find("class");
    return name != nullptr && name->is_string() ? name->as_string() : std::string("host");
  };
  if (result.summary.fleet && hooks_.route != nullptr) {
    result.summary.fleet->router = class_of(kRouter);
  }
  if (result.summary.fleet && result.summary.fleet->operations &&
      result.summary.fleet->operations->scaling && hooks_.scale != nullptr) {
    result.summary.fleet->operations->scaling->policy = class_of(kAutoscaler);
  }
  if (hooks_.predict != nullptr) {
    result.expected_errors.clear();  // They are of our own model.
    result.bound.clear();
  }
  result.warnings.push_back(
      {.code = "W-python-model",
       .message = fmt::format(
           "decided by code of the host, which the command line cannot repeat: {}", names),
       .hint = "keep the code with the result"});
}

}  // namespace ridgeline::api
