#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_json.hpp"
#include "document/node_path.hpp"
#include "engine/profiles.hpp"
#include "engine/schedulers.hpp"
#include "report/format.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "verbs/explain_view.hpp"
#include "verbs/registry.hpp"
#include "verbs/run.hpp"
#include "verbs/run/result_tree.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

using document::MapBuilder;
using document::Node;

constexpr std::int64_t kUpgradeSchemaVersion = 1;

/// What an upgrade is worth is said in these, by their paths in the results of `run` and `explain`.
struct UpgradeFigure {
  std::string_view key;
  std::string_view path;
};
constexpr auto kWorthOf = std::to_array<UpgradeFigure>({
    {"ttft_p50_ms", "summary.ttft_ms.p50"},
    {"ttft_p99_ms", "summary.ttft_ms.p99"},
    {"tpot_p50_ms", "summary.tpot_ms.p50"},
    {"tpot_p99_ms", "summary.tpot_ms.p99"},
    {"output_throughput", "summary.output_throughput"},
    {"preemptions", "summary.preemptions"},
    {"kv_tokens", "memory.kv_tokens"},
});

/// vLLM's flag with which a later version does without a rule that no setting shows, or an
/// environment variable.
struct Keeper {
  std::string_view rule;
  std::string_view flag;
};
constexpr auto kKeepers = std::to_array<Keeper>({
    {"reserve_full_prompt", "--no-scheduler-reserve-full-isl"},
    {"thins_windows", "--prefix-cache-retention-interval -1"},
    {"hashes_look_ahead", "--speculative-config.disable_lookahead_block_hashes true"},
    {"fuses_all_reduce", "--compilation-config.pass_config.fuse_allreduce_rms false"},
    {"graphs_in_kv_budget", "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0"},
});

bool differ(const Node& one, const Node& other) {
  return document::json_text(one) != document::json_text(other);
}

std::string setting_text(const Node& value) {
  if (value.is_list() && !value.items().empty()) {
    const auto& items = value.items();
    return fmt::format("{}: {} to {}",
                       items.size(),
                       report::cell_text(&items.front(), report::Format::kText),
                       report::cell_text(&items.back(), report::Format::kText));
  }
  return report::cell_text(
      &value,
      value.kind() == Node::Kind::kReal ? report::Format::kSignificant : report::Format::kText);
}

/// The scenario under a version, with some rules of another.
struct State {
  Node explained;
  Node figures;
};

class Upgrade {
 public:
  Upgrade(const scenario::LoadedScenario& loaded, std::string from, std::string to, Host& host)
      : loaded_(loaded), from_(std::move(from)), to_(std::move(to)), host_(host) {}

  /// Nothing where the host stopped it.
  core::Result<std::optional<Node>> compare() {
    const auto old = engine::find_profile(from_);
    const auto young = engine::find_profile(to_);
    const std::vector<const engine::Rule*> rules = changed_rules(*old, *young);
    stage_.all = std::ssize(rules) + 2;
    auto first = measure(from_, {});
    if (!first) {
      return core::fail(std::move(first).error());
    }
    if (host_.stop()) {
      return std::optional<Node>();
    }
    std::vector<scenario::Patch> patches;
    std::vector<Node> parts;
    State last = *first;
    const auto add = [&](const Node& what, const State& next) {
      const Node changed = changes(last.explained, next.explained);
      parts.push_back(MapBuilder()
                          .add("rules", what)
                          .add("changes", changed)
                          .add("keep", keepers(what, changed))
                          .add("worth", differences(last.figures, next.figures)));
      last = next;
    };
    std::vector<Node> waiting;  // Rules with which alone nothing runs.
    for (const engine::Rule* rule : rules) {
      patches.push_back(
          {.target = "rules", .key = std::string(rule->name), .value = value_of(*rule, *young)});
      waiting.push_back(rule_node(*rule, *old, *young));
      auto next = measure(from_, patches);
      if (host_.stop()) {
        return std::optional<Node>();
      }
      if (next) {
        add(list_node(std::exchange(waiting, {})), *next);
      }
    }
    auto whole = measure(to_, {});
    if (!whole) {
      return core::fail(std::move(whole).error());
    }
    if (host_.stop()) {
      return std::optional<Node>();
    }
    waiting.push_back(MapBuilder()
                          .add("rule", "kernels")
                          .add("from", fmt::format("kernels and times of {}", from_))
                          .add("to", fmt::format("kernels and times of {}", to_)));
    add(list_node(std::move(waiting)), *whole);
    return std::optional<Node>(MapBuilder()
                                   .add("schema_version", kUpgradeSchemaVersion)
                                   .add("from", old->name)
                                   .add("to", young->name)
                                   .add("before", first->figures)
                                   .add("after", whole->figures)
                                   .add("changes", changes(first->explained, whole->explained))
                                   .add("worth", differences(first->figures, whole->figures))
                                   .add("parts", list_node(std::move(parts))));
  }

 private:
  /// Rules that differ, less those that the scenario sets itself, under both versions.
  [[nodiscard]] std::vector<const engine::Rule*> changed_rules(const engine::Profile& old,
                                                               const engine::Profile& young) const {
    std::vector<const engine::Rule*> rules;
    for (const engine::Rule& rule : engine::rules()) {
      const bool is_stated = std::ranges::any_of(
          loaded_.scenario.deployment.patches,
          [&](const auto& patch) { return patch.target == "rules" && patch.key == rule.name; });
      if (!is_stated && differ(value_of(rule, old), value_of(rule, young))) {
        rules.push_back(&rule);
      }
    }
    return rules;
  }

  core::Result<State> measure(std::string_view version,
                              const std::vector<scenario::Patch>& patches) {
    scenario::LoadedScenario loaded = loaded_;
    auto& section = loaded.scenario.deployment;
    section.engine.version = version;
    section.patches.insert(section.patches.end(), patches.begin(), patches.end());
    const auto resolved = scenario::resolve(std::move(loaded));
    if (!resolved) {
      return core::fail(resolved.error());
    }
    auto source = resolved->workload.open();
    if (!source) {
      return core::fail(std::move(source).error());
    }
    const auto result = simulate(*resolved, **source, {.interrupt = &host_.stop()});
    if (!result) {
      return core::fail(result.error());
    }
    ++stage_.done;
    host_.progress(stage_);
    const Node tree = result_tree(*result, SeriesIn::kNothing);
    const Node explained = explanation_tree(*resolved);
    MapBuilder figures;
    for (const UpgradeFigure& figure : kWorthOf) {
      const Node* const of_run = document::at_path(tree, figure.path);
      figures.add(figure.key, of_run != nullptr ? *of_run : node_at(explained, figure.path));
    }
    return State{.explained = MapBuilder()
                                  .add("memory", node_at(explained, "memory"))
                                  .add("engine", node_at(explained, "engine")),
                 .figures = figures};
  }

  static Node rule_node(const engine::Rule& rule,
                        const engine::Profile& old,
                        const engine::Profile& young) {
    return MapBuilder()
        .add("rule", rule.name)
        .add("from", text_of(rule, old))
        .add("to", text_of(rule, young))
        .add("value", value_of(rule, young));
  }

  /// Flags that keep what a part changed: of its rules, and of settings that it derives otherwise.
  static Node keepers(const Node& rules, const Node& changed) {
    std::vector<std::string> flags;
    for (const Node& rule : rules.items()) {
      const auto* const keeper =
          std::ranges::find(kKeepers, node_at(rule, "rule").as_string(), &Keeper::rule);
      const bool is_on = node_at(rule, "value").describe() == "true";
      if (keeper != kKeepers.end() && is_on) {
        flags.emplace_back(keeper->flag);
      }
    }
    for (const Node& change : changed.items()) {
      const scenario::Option* const option =
          scenario::find_option(node_at(change, "key").as_string());
      const Node& old = node_at(change, "from");
      if (option == nullptr || option->path == "engine.num_gpu_blocks" || old.is_null()) {
        continue;
      }
      const bool is_switch = old.kind() == Node::Kind::kBool;
      flags.push_back(fmt::format("--{}{}{}",
                                  is_switch && !old.as_bool() ? "no-" : "",
                                  option->flag,
                                  is_switch ? "" : " " + setting_text(old)));
    }
    return flags.empty() ? Node() : document::text_node(fmt::format("{}", fmt::join(flags, " ")));
  }

  /// Settings and memory terms that differ: [{key, from, to}].
  static Node changes(const Node& old, const Node& young) {
    std::vector<Node> found;
    add_changes("", old, young, found);
    return list_node(std::move(found));
  }
  static void add_changes(const std::string& path,
                          const Node& old,
                          const Node& young,
                          std::vector<Node>& found) {
    if (!differ(old, young) || path == "engine.profile" || path == "engine.version") {
      return;
    }
    if (!old.is_map() || !young.is_map()) {
      found.push_back(MapBuilder().add("key", path).add("from", old).add("to", young));
      return;
    }
    for (const Node::Member& member : young.members()) {
      const Node* const before = old.find(member.key);
      add_changes(path.empty() ? member.key : fmt::format("{}.{}", path, member.key),
                  before == nullptr ? Node() : *before,
                  member.value,
                  found);
    }
  }

  static Node differences(const Node& old, const Node& young) {
    MapBuilder worth;
    for (const UpgradeFigure& figure : kWorthOf) {
      const Node& before = node_at(old, figure.key);
      const Node& after = node_at(young, figure.key);
      worth.add(figure.key,
                before.is_number() && after.is_number()
                    ? document::number_node(after.as_real() - before.as_real())
                    : Node());
    }
    return worth;
  }

  const scenario::LoadedScenario& loaded_;
  std::string from_;
  std::string to_;
  Host& host_;
  Stage stage_;
};

/// What a part is: its rules, from and to.
std::string words_of(const Node& part) {
  std::vector<std::string> texts;
  for (const Node& rule : node_at(part, "rules").items()) {
    texts.push_back(node_at(rule, "to").as_string());
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

bool has_effect(const Node& part) {
  const Node& worth = node_at(part, "worth");
  return !node_at(part, "changes").items().empty() ||
         std::ranges::any_of(worth.members(), [](const Node::Member& member) {
           return member.value.is_number() && member.value.as_real() != 0.0;
         });
}

const report::TableView kRulesWorth{
    .columns = {
        {.title = "rule", .cell = words_of, .most = 56, .shrink = 1},
        {.title = "TTFT p50 ms", .path = "worth.ttft_p50_ms", .format = report::Format::kSigned2},
        {.title = "p99", .path = "worth.ttft_p99_ms", .format = report::Format::kSigned2},
        {.title = "TPOT p50 ms", .path = "worth.tpot_p50_ms", .format = report::Format::kSigned2},
        {.title = "p99", .path = "worth.tpot_p99_ms", .format = report::Format::kSigned2},
        {.title = "output tok/s",
         .path = "worth.output_throughput",
         .format = report::Format::kSigned1},
        {.title = "KV tokens", .path = "worth.kv_tokens", .format = report::Format::kCount},
        {.title = "keeps the old", .path = "keep", .drop = 1}}};

const report::TableView kChangedSettings{
    .title = "Settings and memory",
    .columns = {
        {.title = "setting", .path = "key"},
        {.title = "from",
         .cell = [](const Node& row) { return setting_text(node_at(row, "from")); }},
        {.title = "to", .cell = [](const Node& row) { return setting_text(node_at(row, "to")); }}}};

report::Sheet upgrade_sheet(const Node& tree) {
  const std::string from = node_at(tree, "from").as_string();
  const std::string to = node_at(tree, "to").as_string();
  report::Sheet sheet(fmt::format("{} to {}", from, to));
  sheet.line({fmt::format("{} to {}", from, to)});
  std::vector<Node> parts;
  std::size_t idle = 0;
  for (const Node& part : node_at(tree, "parts").items()) {
    if (has_effect(part)) {
      parts.push_back(part);
    } else {
      idle += node_at(part, "rules").items().size();
    }
  }
  parts.push_back(MapBuilder()
                      .add("rules", document::list_node({MapBuilder().add("to", "all together")}))
                      .add("worth", node_at(tree, "worth")));
  sheet.gap().table(kRulesWorth, std::move(parts));
  sheet.gap().table(kChangedSettings, node_at(tree, "changes").items());
  if (idle > 0) {
    sheet.gap().sentence(
        fmt::format("{} without effect on this load: --format json names them",
                    report::counted(static_cast<std::int64_t>(idle), "more rule")));
  }
  return sheet;
}

core::Result<Reply> upgrade(Request& request, Host& host) {
  std::string from = request.take_text("from");
  std::string to = request.take_text("to", engine::profiles().back().name);
  const auto loaded = request.load(scenario::Purpose::kRun);
  request.keep(loaded);
  if (!loaded) {
    return core::fail(request.errors());
  }
  if (from.empty()) {
    from = loaded->scenario.deployment.engine.version;
  }
  for (const auto& [key, version] : {std::pair("from", &from), std::pair("to", &to)}) {
    const auto choice = engine::find_engine(*version);
    if (!choice) {
      request.add(request.problem(key, choice.error().front().message));
    } else if (choice->engine->own != nullptr) {
      request.add(request.problem(
          key, fmt::format("{}: only versions of vLLM are compared", *version), "vllm@0.20"));
    } else {
      *version = choice->profile;
    }
  }
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  auto found = Upgrade(*loaded, from, to, host).compare();
  if (!found) {
    return core::fail(std::move(found).error());
  }
  if (!*found) {
    return Reply{.code = host.stopped()};
  }
  const auto tree = shared(std::move(**found));
  Reply reply{.tree = [tree] { return *tree; }, .warnings = loaded->warnings};
  add_views(reply, reply.tree, upgrade_sheet);
  return reply;
}

}  // namespace

Verb upgrade_verb() {
  return {.name = "upgrade",
          .summary = "what another version of the engine changes, rule by rule",
          .usage = "upgrade [scenario.yaml] [--from VERSION] [--to VERSION] [flags]",
          .about =
              "Runs the scenario under one version of vLLM and then gives it the rules of another, "
              "one after the other: what each changes of settings and memory, what it is worth on "
              "this load, and the flag that keeps the old behaviour. The parts sum to the whole.",
          .scenario = ScenarioPart::kWhole,
          .parameters = {{.key = "from",
                          .value = "VERSION",
                          .help = "The version that runs; the scenario's by default"},
                         {.key = "to", .value = "VERSION", .help = "The newest by default"},
                         progress_parameter(),
                         scenario_parameters(),
                         output_parameter()},
          .formats = sheet_formats(),
          .run = upgrade};
}

}  // namespace ridgeline::verbs
