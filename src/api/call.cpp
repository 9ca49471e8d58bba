#include "api/call.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/base_scenario.hpp"
#include "api/batch_text.hpp"
#include "api/call_document.hpp"
#include "api/errors.hpp"
#include "api/file_calls.hpp"
#include "api/guard.hpp"
#include "api/live_run.hpp"
#include "api/measured_calls.hpp"
#include "api/policies.hpp"
#include "api/searches.hpp"
#include "api/step.hpp"
#include "api/tables.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "metrics/timeline.hpp"
#include "report/figures/figure.hpp"
#include "report/registry.hpp"
#include "report/result_json.hpp"
#include "report/result_tree.hpp"
#include "report/results/choices.hpp"
#include "report/results/explanation.hpp"
#include "report/results/run.hpp"
#include "report/results/schema_text.hpp"
#include "report/run_result.hpp"
#include "ridgeline/error.hpp"
#include "ridgeline/ridgeline.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::api {
namespace {

constexpr int kInterrupted = 130;

using Outcome = core::Result<Reply>;

Reply answered(const document::Node& tree) {
  return {.code = 0, .json = report::json_text(tree)};
}

struct Kept {
  Keep tables;
  std::optional<std::size_t> series_windows;
  bool shows_series = false;
};

/// The keys of `run` and `replay` that say what is kept.
Kept take_kept(CallDocument& document, core::Errors& errors) {
  using metrics::Timeline;
  Kept kept;
  for (const std::string& word : document.take_texts("keep")) {
    if (word == "requests") {
      kept.tables.requests = kUsualRequests;
    } else if (word == "all-requests") {
      kept.tables.requests = std::numeric_limits<std::int64_t>::max();
    } else if (word == "steps") {
      kept.tables.steps = true;
    } else if (word == "series" || word == "figures") {
      kept.shows_series = kept.shows_series || word == "series";
      kept.series_windows = Timeline::kUsualWindows;
    } else {
      errors.push_back({.field = "keep",
                        .message = fmt::format("found \"{}\", expected requests, all-requests, "
                                               "steps, series or figures",
                                               word)});
    }
  }
  const std::int64_t windows =
      document.take_count("series_buckets", 0, static_cast<std::int64_t>(Timeline::kMostWindows));
  if (windows > 0) {
    if (windows < static_cast<std::int64_t>(Timeline::kLeastWindows)) {
      errors.push_back({.field = "series_buckets",
                        .message = fmt::format("found {}, expected {} to {}",
                                               windows,
                                               Timeline::kLeastWindows,
                                               Timeline::kMostWindows)});
    }
    kept.series_windows = static_cast<std::size_t>(windows);
  }
  return kept;
}

/// The result of a run with all that can be asked of it.
Reply run_reply(report::RunResult&& result, bool shows_series) {
  const auto whole = std::make_shared<const report::RunResult>(std::move(result));
  Reply reply;
  if (whole->series && !shows_series) {
    report::RunResult bare = *whole;
    bare.series.reset();
    bare.mean_steps.reset();
    bare.gpu_memory.reset();
    reply = answered(report::result_tree(bare));
  } else {
    reply = answered(report::result_tree(*whole));
  }
  reply.digest = whole->digest;
  reply.figures = [whole] { return report::figures::all_figures(report::result_tree(*whole)); };
  reply.report = [whole, json = reply.json](std::string_view name) -> std::optional<std::string> {
    const auto exporter = report::find_exporter(name);
    if (!exporter || ((*exporter)->needs_series && !whole->series)) {
      return std::nullopt;
    }
    return name == "json" ? json : (*exporter)->render(*whole, {});
  };
  return reply;
}

Outcome run_for(scenario::Purpose purpose, CallDocument& document, const CallHost& host) {
  core::Errors errors;
  const Kept kept = take_kept(document, errors);
  const document::Node said = document.take("policies");
  errors.insert(errors.end(), document.errors().begin(), document.errors().end());
  auto loaded = scenario::read_scenario(document.scenario(), {}, purpose);
  if (!loaded) {
    errors.insert(errors.end(), loaded.error().begin(), loaded.error().end());
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  const auto resolved = scenario::resolve(std::move(*loaded));
  if (!resolved) {
    return core::fail(resolved.error());
  }
  const auto tables = std::make_shared<KeptTables>(kept.tables);
  std::optional<HostPolicies> policies;
  if (host.policies != nullptr) {
    policies.emplace(*host.policies);
  }
  const bool has_policies = policies && policies->any();
  auto result = live_run(*resolved,
                         host.hooks,
                         {.policies = has_policies ? &*policies : nullptr,
                          .tables = kept.tables.any() ? tables.get() : nullptr,
                          .series_windows = kept.series_windows});
  if (!result) {
    return core::fail(result.error());
  }
  if (has_policies) {
    policies->tell(said, *result);
  }
  const bool partial = result->partial;
  const bool unanswered = report::unanswered(*resolved, result->summary).has_value();
  Reply reply = run_reply(std::move(*result), kept.shows_series);
  reply.tables = tables;
  if (partial) {
    reply.code = kInterrupted;
  } else if (unanswered) {
    reply.code = static_cast<int>(ErrorCode::kInfeasible);
  }
  return reply;
}

Outcome run(CallDocument& document, const CallHost& host) {
  return run_for(scenario::Purpose::kRun, document, host);
}

Outcome replay(CallDocument& document, const CallHost& host) {
  return run_for(scenario::Purpose::kReplay, document, host);
}

Outcome explain(CallDocument& document, const CallHost& /*host*/) {
  auto loaded = scenario::read_scenario(document.scenario(), {}, scenario::Purpose::kLook);
  if (!loaded) {
    return core::fail(loaded.error());
  }
  const auto resolved = scenario::resolve(std::move(*loaded));
  if (!resolved) {
    return core::fail(resolved.error());
  }
  return answered(report::explanation_tree(*resolved));
}

Outcome step(CallDocument& document, const CallHost& /*host*/) {
  const std::string decode = document.take_text("decode");
  const std::string prefill = document.take_text("prefill");
  const bool samples = document.take_bool("samples", true);
  const std::vector<std::string> models = document.take_texts("compare");
  core::Errors errors = document.errors();
  const auto keep = [&](const auto& result) {
    if (!result) {
      errors.insert(errors.end(), result.error().begin(), result.error().end());
    }
  };
  const auto batch = parse_batch(decode, prefill, samples);
  keep(batch);
  const auto loaded = scenario::read_scenario(document.scenario(), {}, scenario::Purpose::kLook);
  keep(loaded);
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  const auto steps = price_step(*loaded, *batch, models);
  if (!steps) {
    return core::fail(steps.error());
  }
  return answered(steps_tree(*steps, !models.empty()));
}

Outcome list_choices(CallDocument& document, const CallHost& /*host*/) {
  const std::vector<std::string> words = {document.take_text("kind")};
  document.end();
  if (!document.errors().empty()) {
    return core::fail(document.errors());
  }
  const auto kind = report::find_choice_kind(words);
  if (!kind) {
    return core::fail(kind.error());
  }
  const auto choices = (*kind)->list();
  if (!choices) {
    return core::fail(choices.error());
  }
  return answered(report::choices_tree(*choices));
}

Outcome show_schema(CallDocument& document, const CallHost& /*host*/) {
  const std::string name = document.take_text("name");
  document.end();
  if (!document.errors().empty()) {
    return core::fail(document.errors());
  }
  const auto text = report::schema_text(name);
  if (!text) {
    return core::fail(core::Error{
        .field = "name",
        .message = fmt::format(
            "found \"{}\", expected one of: {}", name, fmt::join(report::schema_names(), ", "))});
  }
  return Reply{.code = 0, .json = *text};
}

Outcome validate_runs(CallDocument& document, const CallHost& host) {
  return validate(document, host);
}

Outcome calibrate_server(CallDocument& document, const CallHost& host) {
  return calibrate(document, host);
}

Outcome show_trace(CallDocument& document, const CallHost& /*host*/) {
  return describe_trace(document);
}

Outcome conform_files(CallDocument& document, const CallHost& /*host*/) {
  return conform(document);
}

Outcome load(CallDocument& document, const CallHost& /*host*/) {
  return load_result(document);
}

struct CallVerb {
  std::string_view name;
  Outcome (*call)(CallDocument& document, const CallHost& host);
};
constexpr auto kCallVerbs = std::to_array<CallVerb>({{"run", run},
                                                     {"replay", replay},
                                                     {"explain", explain},
                                                     {"step", step},
                                                     {"list", list_choices},
                                                     {"schema", show_schema},
                                                     {"validate", validate_runs},
                                                     {"calibrate", calibrate_server},
                                                     {"sweep", sweep_points},
                                                     {"plan", plan_deployment},
                                                     {"trace", show_trace},
                                                     {"conform", conform_files},
                                                     {"report", load}});

Outcome answer(std::string_view verb, std::string_view json, const CallHost& host) {
  const auto* const found = std::ranges::find(kCallVerbs, verb, &CallVerb::name);
  if (found == kCallVerbs.end()) {
    std::vector<std::string_view> names;
    for (const CallVerb& known : kCallVerbs) {
      names.push_back(known.name);
    }
    return core::fail(core::Error{
        .field = "verb",
        .message = fmt::format("found \"{}\", expected one of: {}", verb, fmt::join(names, ", "))});
  }
  const auto parsed = document::parse_json(json.empty() ? "{}" : json, "");
  if (!parsed) {
    return core::fail(parsed.error());
  }
  if (!parsed->is_map()) {
    return core::fail(
        core::Error{.message = fmt::format("found {}, expected a JSON object", parsed->describe()),
                    .where = parsed->where()});
  }
  const auto whole = over_base(*parsed);
  if (!whole) {
    return core::fail(whole.error());
  }
  CallDocument document(*whole);
  return found->call(document, host);
}

}  // namespace

Reply call(std::string_view verb, std::string_view json, const CallHost& host) {
  auto reply = guarded_result([&] { return answer(verb, json, host); });
  if (reply) {
    return std::move(*reply);
  }
  return {.code = exit_code(reply.error()), .json = report::json_text(errors_tree(reply.error()))};
}

}  // namespace ridgeline::api
