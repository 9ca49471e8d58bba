// What the expressions of a study file can ask of models, runs and measured servers.
#include "lab/studies/study_scope.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "evidence/validate/evidence.hpp"
#include "lab/studies/expression.hpp"
#include "lab/studies/gains.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/measured_arms.hpp"
#include "lab/studies/study.hpp"
#include "lab/studies/study_file.hpp"
#include "latency/measured/lookup.hpp"
#include "latency/roofline/mfu_source.hpp"
#include "latency/roofline/step_cost.hpp"
#include "latency/roofline/table_mfu.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "verbs/host.hpp"
#include "verbs/run.hpp"
#include "verbs/run/result_tree.hpp"

namespace ridgeline::studies {
namespace {

using document::MapBuilder;
using evidence::validate::Figure;

constexpr double kStepMicros = 1e6;

core::Result<Value> refused(std::string message) {
  return core::fail({.message = std::move(message)});
}

Value phase_map(const latency::roofline::PhaseCost& phase) {
  return MapBuilder()
      .add("gemm", phase.gemm)
      .add("attention", phase.attention)
      .add("weights", phase.weights)
      .add("dynamic", phase.dynamic)
      .add("compute", phase.compute())
      .add("memory", phase.memory())
      .add("time", phase.time())
      .add("memory_bound", phase.memory_wins())
      .build();
}

/// "step": decodes by their contexts, prompts by their tokens or as [before, new].
core::Result<Requests> requests_of(const Given& given) {
  Requests requests;
  const Value* decodes = given.keyword("decodes");
  const Value* prefills = given.keyword("prefills");
  for (const Value* list : {decodes, prefills}) {
    for (const Value& item : list == nullptr ? std::vector<Value>() : std::vector<Value>{*list}) {
      if (!item.is_list()) {
        return core::fail(
            {.message = fmt::format("found {}, expected a list of tokens", item.describe())});
      }
    }
  }
  const auto is_count = [](const Value& value) {
    return value.kind() == Value::Kind::kInteger && value.as_integer() >= 0;
  };
  for (const Value& one : decodes == nullptr ? std::vector<Value>() : decodes->items()) {
    if (!is_count(one)) {
      return core::fail(
          {.message = fmt::format("found {} as a decode, expected its context in tokens",
                                  one.describe())});
    }
    requests.decodes.push_back(one.as_integer());
  }
  for (const Value& one : prefills == nullptr ? std::vector<Value>() : prefills->items()) {
    const bool pair =
        one.is_list() && one.items().size() == 2 && std::ranges::all_of(one.items(), is_count);
    if (!pair && !is_count(one)) {
      return core::fail(
          {.message = fmt::format("found {} as a prompt, expected its tokens, or [before, new]",
                                  one.describe())});
    }
    requests.prefills.emplace_back(pair ? one.items()[0].as_integer() : 0,
                                   pair ? one.items()[1].as_integer() : one.as_integer());
  }
  if (requests.decodes.empty() && requests.prefills.empty()) {
    return core::fail({.message = "found no requests, expected decodes=[...] or prefills=[...]"});
  }
  return requests;
}

std::optional<Figure> figure_of(const Value& value) {
  const std::string name = value.is_string() ? value.as_string() : "";
  return name == "tpot"   ? std::optional(Figure::kTpot)
         : name == "ttft" ? std::optional(Figure::kTtft)
         : name == "e2e"  ? std::optional(Figure::kE2e)
         : name == "itl"  ? std::optional(Figure::kItl)
                          : std::nullopt;
}

core::Error no_figure(const Value& value) {
  return {.message = fmt::format("found {}, expected \"tpot\", \"ttft\", \"e2e\" or \"itl\"",
                                 value.describe())};
}

}  // namespace

StudyScope::StudyScope(const Study& study, const StudyFile& file, const Lab* lab)
    : study_(study), file_(file), lab_(lab) {
  add_functions();
  add_names();
}

void StudyScope::add_functions() {
  const std::vector<std::string> place = {"model", "gpu", "tp", "made"};
  std::vector<std::string> of_step = place;
  of_step.insert(of_step.end(), {"decodes", "prefills"});
  scope_.add({.name = "step", .keywords = of_step, .run = [this](const Given& given) {
                return step(given);
              }});
  scope_.add({.name = "lookup",
              .least = 3,
              .most = 3,
              .keywords = place,
              .run = [this](const Given& given) { return lookup(given); }});
  scope_.add({.name = "run",
              .most = 2,
              .keywords = {"model", "gpu", "tp"},
              .run = [this](const Given& given) { return run(given); }});
  scope_.add({.name = "gain", .least = 4, .most = 4, .run = [this](const Given& given) {
                return gain(given);
              }});
}

void StudyScope::add_names() {
  const bool measured = lab_ != nullptr && !lab_->options().measured.empty();
  std::vector<std::string> arms;
  for (const Arm& arm : study_.arms) {
    arms.push_back(arm.name);
  }
  scope_.define("model", {}, constant(cell(study_.place.network), "model"));
  scope_.define("gpu", {}, constant(cell(study_.place.gpu), "gpu"));
  scope_.define("tp", {}, constant(cell(study_.place.ranks), "tp"));
  scope_.define("measured", {}, constant(cell(measured), "measured"));
  scope_.define("arms", {}, constant(document::texts_node(arms), "arms"));
  scope_.define("runs", [this] { return runs(); });
  scope_.define("verdict", {}, file_.verdict);
  for (const FileDefinition& one : file_.let) {
    scope_.define(one.name, one.parameters, one.body);
  }
}

core::Result<std::string> StudyScope::arm_of(const Value& value) const {
  if (value.is_string() &&
      std::ranges::find(study_.arms, value.as_string(), &Arm::name) != study_.arms.end()) {
    return value.as_string();
  }
  std::vector<std::string> names;
  for (const Arm& arm : study_.arms) {
    names.push_back(arm.name);
  }
  return core::fail({.message = fmt::format("found {}, expected an arm of the study: \"{}\"",
                                            value.describe(),
                                            fmt::join(names, "\", \""))});
}

core::Result<Place> StudyScope::place_of(const Given& given) const {
  Place place = study_.place;
  for (const auto& [key, value] : given.keywords) {
    const bool text = key == "model" || key == "gpu";
    const bool whole = key == "tp";
    if ((text && !value.is_string()) || (whole && value.kind() != Value::Kind::kInteger) ||
        (key == "made" && value.kind() != Value::Kind::kBool)) {
      return core::fail({.message = fmt::format("found {} for {}", value.describe(), key)});
    }
    place.network = key == "model" ? value.as_string() : place.network;
    place.gpu = key == "gpu" ? value.as_string() : place.gpu;
    place.ranks = whole ? value.as_integer() : place.ranks;
    place.made = key == "made" ? value.as_bool() : place.made;
  }
  return place;
}

core::Result<const Subject*> StudyScope::subject_of(const Given& given) {
  const auto arm = arm_of(given.values[0]);
  const auto place = place_of(given);
  if (!arm || !place) {
    return core::fail(!arm ? arm.error() : place.error());
  }
  auto& subject = subjects_[fmt::format(
      "{}\n{}\n{}\n{}\n{}", *arm, place->network, place->gpu, place->ranks, place->made)];
  if (subject == nullptr) {
    auto made = lab_->subject(*arm, *place);
    if (!made) {
      return core::fail(std::move(made).error());
    }
    subject = std::move(*made);
  }
  return subject.get();
}

/// A step under an arm: whole microseconds of a roofline and both sides of its phases, in seconds;
/// of any model the microseconds and the seconds of its attention.
core::Result<Value> StudyScope::step(const Given& given) {
  std::string key = given.values[0].describe();
  for (const auto& [name, value] : given.keywords) {
    key += fmt::format("\n{}={}", name, text_of(value));
  }
  if (const auto known = steps_.find(key); known != steps_.end()) {
    return known->second;
  }
  const auto requests = requests_of(given);
  const auto subject = subject_of(given);
  if (!requests || !subject) {
    return core::fail(!requests ? requests.error() : subject.error());
  }
  MapBuilder found;
  if ((*subject)->roofline() != nullptr) {
    const auto cost = (*subject)->cost(*requests);
    found.add("us", cost.rounded_us)
        .add("attention", cost.prefill.attention + cost.decode.attention)
        .add("prefill", phase_map(cost.prefill))
        .add("decode", phase_map(cost.decode));
  } else {
    found.add("us", (*subject)->gpu_time(*requests).value() * kStepMicros)
        .add("attention", (*subject)->attention(*requests).value());
  }
  return steps_.emplace(key, found.build()).first->second;
}

/// The MFU of decode attention at a batch size and context, and whether a row has it.
core::Result<Value> StudyScope::lookup(const Given& given) {
  const auto subject = subject_of(given);
  if (!subject) {
    return core::fail(subject.error());
  }
  const auto* roofline = (*subject)->roofline();
  if (roofline == nullptr || roofline->table_formulas() == nullptr ||
      given.values[1].kind() != Value::Kind::kInteger ||
      given.values[2].kind() != Value::Kind::kInteger) {
    return refused("expected an arm that looks MFUs up, a batch size and a context");
  }
  const auto found = roofline->table_formulas()->source().decode(given.values[1].as_integer(),
                                                                 given.values[2].as_integer());
  return MapBuilder()
      .add("mfu", found.mfu)
      .add("found", found.outcome == latency::measured::LookupOutcome::kFound)
      .build();
}

/// A whole simulation under an arm: the result that `ridgeline run --format json` writes.
core::Result<Value> StudyScope::run(const Given& given) {
  const auto arm = arm_of(given.values[0]);
  const auto place = place_of(given);
  if (!arm || !place) {
    return core::fail(!arm ? arm.error() : place.error());
  }
  if (given.values.size() == 2 && !given.values[1].is_map()) {
    return refused(fmt::format(
        "found {}, expected a map of settings, such as {{\"workload.request_rate\": 4}}",
        given.values[1].describe()));
  }
  const Arm& chosen = *std::ranges::find(study_.arms, *arm, &Arm::name);
  std::vector<scenario::Override> settings = {
      {.path = "model", .text = place->network},
      {.path = "gpu", .text = place->gpu},
      {.path = "engine.tensor_parallel_size", .text = fmt::format("{}", place->ranks)}};
  const auto of_arm = overrides_of(chosen, lab_->options().bench_data);
  settings.insert(settings.end(), of_arm.begin(), of_arm.end());
  settings.insert(settings.end(), file_.run.begin(), file_.run.end());
  settings.insert(settings.end(), chosen.run.begin(), chosen.run.end());
  for (const auto& [path, value, where] :
       given.values.size() == 2 ? given.values[1].members() : std::vector<Value::Member>()) {
    settings.push_back({.path = path, .text = text_of(value)});
  }
  auto loaded = scenario::load_scenario(std::nullopt, settings, scenario::Purpose::kRun);
  if (!loaded) {
    core::Error problem = loaded.error().front();
    problem.where = {};  // It stands where the call does.
    return core::fail(std::move(problem));
  }
  const auto resolved = scenario::resolve(*std::move(loaded));
  if (!resolved) {
    return core::fail(resolved.error());
  }
  verbs::Host host;
  const auto result = verbs::run_for(host, *resolved, {}, {});
  if (!result) {
    return core::fail(result.error());
  }
  return verbs::result_tree(*result);
}

std::vector<Arm> StudyScope::server_arms() const {
  std::vector<Arm> arms;
  for (const std::string& name : file_.server_arms) {
    arms.push_back(*std::ranges::find(study_.arms, name, &Arm::name));
  }
  return arms.empty() ? study_.arms : arms;
}

/// The measured runs that the first arm can price, each with its signed errors in percent.
core::Result<Value> StudyScope::runs() {
  if (lab_->options().measured.empty()) {
    return core::fail(
        core::Error{.field = kMeasured, .message = "missing: the study asks for measured runs"});
  }
  const auto arms = server_arms();
  auto scored = score_arms(arms, lab_->options());
  if (!scored) {
    return core::fail(std::move(scored).error());
  }
  scored_ = *std::move(scored);
  std::vector<Value> items;
  for (std::size_t i = 0; i < scored_->size(); ++i) {
    const ScoredRun& run = (*scored_)[i];
    MapBuilder errors;
    for (std::size_t arm = 0; arm < arms.size(); ++arm) {
      errors.add(arms[arm].name,
                 MapBuilder()
                     .add("tpot", run.error_pct(arm, Figure::kTpot))
                     .add("ttft", run.error_pct(arm, Figure::kTtft))
                     .add("e2e", run.error_pct(arm, Figure::kE2e))
                     .add("itl", run.error_pct(arm, Figure::kItl)));
    }
    items.push_back(MapBuilder()
                        .add("place", i)
                        .add("group", run.group)
                        .add("server", run.server)
                        .add("network", run.network)
                        .add("workload", run.workload)
                        .add("tp", run.tensor_parallel)
                        .add("clients", run.clients)
                        .add("in_flight", run.in_flight)
                        .add("errors", errors)
                        .build());
  }
  return Value::list(std::move(items), {});
}

core::Result<Runs> StudyScope::chosen(const Value& list) {
  Runs found;
  for (const Value& one : list.is_list() ? list.items() : std::vector<Value>()) {
    const Value* place = one.find("place");
    if (place == nullptr || !scored_) {
      break;
    }
    found.push_back(&(*scored_)[static_cast<std::size_t>(place->as_integer())]);
  }
  if (!list.is_list() || std::ssize(found) != std::ssize(list.items())) {
    return core::fail({.message = "expected a list of some of the measured `runs`"});
  }
  return found;
}

core::Result<Pair> StudyScope::pair_of(const Value& baseline, const Value& treatment) const {
  const auto arms = server_arms();
  const auto place = [&](const Value& name) {
    const auto found = std::ranges::find_if(
        arms, [&](const Arm& arm) { return name.is_string() && arm.name == name.as_string(); });
    return static_cast<std::size_t>(found - arms.begin());
  };
  const Pair pair{.baseline = place(baseline), .treatment = place(treatment)};
  if (std::max(pair.baseline, pair.treatment) == arms.size()) {
    return core::fail(
        {.message = fmt::format("found {} and {}, expected two arms that are scored on servers",
                                baseline.describe(),
                                treatment.describe())});
  }
  return pair;
}

/// What one arm gains over another on some runs; null where none has the figure.
core::Result<Value> StudyScope::gain(const Given& given) {
  const auto among = chosen(given.values[0]);
  const auto pair = pair_of(given.values[1], given.values[2]);
  const auto figure = figure_of(given.values[3]);
  if (!among || !pair || !figure) {
    return core::fail(!among  ? among.error()
                      : !pair ? pair.error()
                              : core::Errors{no_figure(given.values[3])});
  }
  const auto found = gain_of(*among, *pair, *figure);
  if (!found) {
    return Value();
  }
  return MapBuilder()
      .add("runs", found->runs)
      .add("baseline", found->baseline)
      .add("treatment", found->treatment)
      .add("points", found->points)
      .add("low", found->interval ? std::optional(found->interval->low) : std::nullopt)
      .add("high", found->interval ? std::optional(found->interval->high) : std::nullopt)
      .build();
}

}  // namespace ridgeline::studies
