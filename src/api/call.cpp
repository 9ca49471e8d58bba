#include "api/call.hpp"

#include <algorithm>
#include <array>
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
#include "api/run_reply.hpp"
#include "api/searches.hpp"
#include "api/step.hpp"
#include "api/tables.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "report/result_json.hpp"
#include "report/results/choices.hpp"
#include "report/results/explanation.hpp"
#include "report/results/schema_text.hpp"
#include "ridgeline/error.hpp"
#include "ridgeline/ridgeline.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::api {
namespace {

using Outcome = core::Result<Reply>;

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
  return run_reply(*resolved, std::move(*result), kept, tables);
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
  auto document = read_call(json);
  if (!document) {
    return core::fail(document.error());
  }
  return found->call(*document, host);
}

}  // namespace

core::Result<CallDocument> read_call(std::string_view json) {
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
  return CallDocument(*whole);
}

Reply call(std::string_view verb, std::string_view json, const CallHost& host) {
  auto reply = guarded_result([&] { return answer(verb, json, host); });
  if (reply) {
    return std::move(*reply);
  }
  return {.code = exit_code(reply.error()), .json = report::json_text(errors_tree(reply.error()))};
}

}  // namespace ridgeline::api
