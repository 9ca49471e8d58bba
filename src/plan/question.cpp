#include "plan/question.hpp"

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

#include "core/parse.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/reader.hpp"
#include "engine/schedulers.hpp"
#include "latency/accuracy/bands.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "plan/engines.hpp"
#include "plan/limits.hpp"
#include "plan/members.hpp"
#include "plan/objectives.hpp"
#include "plan/refusals.hpp"
#include "plan/slo.hpp"
#include "routing/registry.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"
#include "sweep/axes.hpp"

namespace ridgeline::plan {
namespace {

using document::Node;

constexpr std::string_view kTensorParallel = "engine.tensor_parallel_size";
constexpr std::string_view kPipelineParallel = "engine.pipeline_parallel_size";
constexpr std::string_view kExpertParallel = "engine.enable_expert_parallel";
/// Key of the section `engine`, as vLLM calls it.
constexpr std::string_view kBatchedTokens = "max_num_batched_tokens";
constexpr std::string_view kRouter = "cluster.router.name";
/// Budgets of tokens of a step that are tried where none is stated, whatever the engine calls them:
/// vLLM's default of small GPUs and that of large ones, which are SGLang's as well.
constexpr std::array<std::int64_t, 2> kUsualBudgets = {2048, 8192};
/// Replicas, GPUs and the like.
constexpr document::Range<std::int64_t> kCounts = {1, 1'000'000};

/// Whether a flag's text lists several values, or asks for all that fit.
bool is_list(const scenario::Override& change) {
  const scenario::Option* option = scenario::find_option(change.path);
  if (option == nullptr || option->shape != scenario::Option::Shape::kOne) {
    return false;
  }
  const bool of_deployment = change.path == "model" || change.path == "gpu" ||
                             change.path.starts_with("engine.") || change.path == kRouter;
  const bool is_plain = option->kind() == "text" || option->kind() == "integer" ||
                        option->kind() == "number" || option->is_switch();
  const bool is_word = (change.text == "auto" &&
                        (change.path == kTensorParallel || change.path == kExpertParallel)) ||
                       (change.text == kAllEngines && change.path == kEngineVersion);
  return of_deployment && is_plain && (is_word || change.text.find(',') != std::string::npos);
}

class QuestionReader {
 public:
  explicit QuestionReader(const QuestionWords& words) : words_(words), axes_({}) {}

  core::Result<Question> read() {
    if (!read_file()) {
      return core::fail(std::move(errors_));
    }
    take_flags();
    read_blocks();
    read_maximize();
    add_usual_axes();
    refuse_settings_of_others();
    take_routers();
    refuse_answers();
    refuse_lists(base_, "", errors_);
    check_names();
    question_.gpus = gpus();
    read_aims({.words = words_, .objective = blocks_.objective, .cost = blocks_.cost},
              question_,
              errors_);
    if (!errors_.empty()) {
      return core::fail(std::move(errors_));
    }
    question_.base = base_;
    question_.axes = axes_.map();
    for (const std::string& engine : engines()) {
      question_.engines.push_back(scenario::named_version(engine));
    }
    return std::move(question_);
  }

 private:
  void problem(std::string field, std::string message, std::string hint = {}) {
    errors_.push_back({.field = std::move(field),
                       .message = std::move(message),
                       .where = {.file = kFlags},
                       .hint = std::move(hint)});
  }

  bool read_file() {
    if (!words_.file && !words_.document) {
      base_ = Node::map({}, {});
      return true;
    }
    auto document = words_.document ? core::Result<Node>(*words_.document)
                                    : document::read_document(*words_.file);
    if (!document) {
      errors_ = std::move(document).error();
      return false;
    }
    if (!document->is_map()) {
      errors_.push_back({.message = fmt::format("found {}, expected a map of settings, `space` and "
                                                "`slo`",
                                                document->describe()),
                         .where = {.file = document->where().file}});
      return false;
    }
    refuse_duplicates(*document, "", errors_);
    Members members(document->members());
    blocks_.space = members.take("space");
    blocks_.limits = members.take("limits");
    blocks_.slo = members.take("slo");
    blocks_.objective = members.take("objective");
    blocks_.cost = members.take("cost");
    blocks_.mix = members.take("mix");
    blocks_.maximize = members.take("maximize");
    base_ = members.map();
    return true;
  }

  /// Flags that belong to the question, and those that list values.
  void take_flags() {
    std::vector<Node::Member> slo;
    if (blocks_.slo && blocks_.slo->is_map()) {
      slo = blocks_.slo->members();
    }
    Members targets(std::move(slo));
    const bool is_preset = words_.slo || (blocks_.slo && blocks_.slo->is_string());
    for (const scenario::Override& change : words_.overrides) {
      if (change.path.starts_with("slo.") && is_preset) {
        problem(change.path,
                fmt::format("beside the preset {}: expected one of the two",
                            words_.slo ? *words_.slo : blocks_.slo->as_string()),
                "state both --slo-ttft and --slo-tpot, without the preset");
      } else if (change.path.starts_with("slo.")) {
        targets.set(std::string_view(change.path).substr(4), flag_node(change.text));
        blocks_.slo = targets.map();
      } else if (is_list(change)) {
        listed_.push_back(change);
      } else {
        question_.overrides.push_back(change);
      }
    }
    if (words_.slo) {
      blocks_.slo = flag_node(*words_.slo);
    }
  }

  void read_blocks() {
    read_space();
    read_limits();
    if (blocks_.mix) {
      read_mix();
    }
    if (blocks_.slo) {
      question_.slo = read_slo(*blocks_.slo, errors_);
      question_.warnings = question_.slo.warnings;
    }
    if (question_.slo.targets.empty() && errors_.empty()) {
      problem("slo",
              "is missing: a plan needs a target",
              "--slo-ttft 500ms --slo-tpot 50ms, or slo: {ttft: {p99: 500ms}}");
    }
    question_.confidence = question_.slo.confidence.value_or(question_.confidence);
    read_number("--confidence", words_.confidence, 0.5, accuracy::kMostSure, question_.confidence);
    read_count("--top-n", words_.top_n, question_.top_n);
    if (words_.effort) {
      const auto* const found = std::ranges::find(kEffortNames, *words_.effort);
      if (found == kEffortNames.end()) {
        problem("--effort",
                fmt::format(
                    "found \"{}\", expected {}", *words_.effort, fmt::join(kEffortNames, ", ")));
      } else {
        question_.effort = static_cast<Effort>(found - kEffortNames.begin());
      }
    }
    question_.accept_bounds = words_.accept_bounds;
  }

  void read_maximize() {
    if (words_.maximize) {
      blocks_.maximize = flag_node(*words_.maximize);
    }
    if (!blocks_.maximize) {
      return;
    }
    question_.most_of = read_aim(*blocks_.maximize, base_, question_.overrides, errors_);
    if (!question_.limits.max_gpus && question_.limits.stock.empty()) {
      problem("--gpus", "is missing: the most of how many GPUs is asked for?", "--gpus 8");
    }
    if (blocks_.objective || words_.objective || blocks_.mix) {
      problem("maximize",
              fmt::format("found beside {}: expected one aim",
                          blocks_.mix ? "a mix, for the load of its classes" : "an objective"));
    }
  }

  void read_mix() {
    question_.classes = read_classes(*blocks_.mix, base_.find("workload"), errors_);
    for (const auto& change : question_.overrides) {
      if (change.path.starts_with("workload.")) {
        problem(
            change.path, "would replace that of every request class of `mix`", "state it there");
      }
    }
  }

  void read_space() {
    if (blocks_.space && !blocks_.space->is_map()) {
      errors_.push_back({.field = "space",
                         .message = fmt::format("found {}, expected a map of keys and what each "
                                                "takes",
                                                blocks_.space->describe()),
                         .where = blocks_.space->where(),
                         .hint = "space: {gpu: [h100, h200]}"});
      blocks_.space.reset();
    }
    axes_ = Members(blocks_.space ? with_dotted_engine(blocks_.space->members())
                                  : std::vector<Node::Member>{});
    if (const auto node = axes_.take("replicas")) {
      read_replicas(*node);
    }
    if (words_.replicas) {
      if (auto node = document::parse_yaml(
              *words_.replicas == "auto" ? "auto" : fmt::format("[{}]", *words_.replicas),
              kFlags)) {
        read_replicas(*node);
      }
    }
    if (const auto node = axes_.take("disaggregation")) {
      read_splits(*node);
    }
    if (auto node = axes_.take("routing")) {
      axes_.set(kRouter, std::move(*node));
    }
    for (const scenario::Override& change : question_.overrides) {
      take_path(change.path);  // A flag with one value replaces what a file searches.
    }
    for (const scenario::Override& change : listed_) {
      add_axis(fmt::format("{}={}", change.path, change.text));
    }
    for (const std::string& axis : words_.axes) {
      add_axis(axis);
    }
    const std::vector<std::string> asked = engines();
    if (asked.size() == 1 && asked.front() == kAllEngines) {
      axes_.set(kEngineVersion, every_engine(values_of(kEngineVersion).front().where()));
    }
  }

  /// What is asked, by name: "sglang", "vllm@0.15"; the default where nothing is stated.
  [[nodiscard]] std::vector<std::string> engines() const {
    std::vector<std::string> names;
    for (const Node& value : values_of(kEngineVersion)) {
      if (value.is_string()) {
        names.push_back(value.as_string());
      }
    }
    return names.empty() ? std::vector{scenario::EngineSection().version} : names;
  }

  /// Each of several engines ignores what another one has alone; what none has is a mistake.
  void refuse_settings_of_others() {
    const std::vector<std::string> asked = engines();
    for (const std::string_view path :
         settings_of_none(asked, [&](std::string_view one) { return is_stated(one); })) {
      problem(std::string(path),
              fmt::format("would be ignored: none of {} has it", fmt::join(asked, ", ")));
    }
  }

  void add_axis(const std::string& text) {
    auto member = sweep::axis_of_flag(text);
    if (!member) {
      errors_.insert(errors_.end(), member.error().begin(), member.error().end());
      return;
    }
    // What a file has at that key, the flag replaces.
    take_path(member->key);
    axes_.set(member->key, std::move(member->value));
  }

  void take_path(std::string_view path) {
    const auto dot = path.find('.');
    axes_.take(path);
    if (dot == std::string_view::npos) {
      return;
    }
    if (auto section = axes_.take(path.substr(0, dot)); section && section->is_map()) {
      Members below(section->members());
      below.take(path.substr(dot + 1));
      if (!below.empty()) {
        axes_.set(path.substr(0, dot), below.map());
      }
    }
  }

  void read_replicas(const Node& node) {
    if (node.is_string() && node.as_string() == "auto") {
      question_.replicas.clear();
      return;
    }
    std::vector<Node> items = node.is_list() ? node.items() : std::vector<Node>{node};
    question_.replicas.clear();
    for (const Node& item : items) {
      if (item.kind() != Node::Kind::kInteger || item.as_integer() < 1 ||
          item.as_integer() > kCounts.highest) {
        errors_.push_back(
            {.field = "replicas",
             .message = fmt::format("found {}, expected auto or numbers from 1", item.describe()),
             .where = item.where()});
        return;
      }
      question_.replicas.push_back(item.as_integer());
    }
    std::ranges::sort(question_.replicas);
  }

  void read_splits(const Node& node) {
    question_.splits.clear();
    const std::vector<Node> items = node.is_list() ? node.items() : std::vector<Node>{node};
    for (const Node& item : items) {
      if (item.is_string() && item.as_string() == "none") {
        question_.splits.emplace_back(std::nullopt);
        continue;
      }
      document::ObjectReader reader(item, "space.disaggregation", errors_);
      Split split;
      split.prefill = reader.required_integer("prefill", {1, 64});
      split.decode = reader.required_integer("decode", {1, 64});
      reader.finish();
      question_.splits.emplace_back(split);
    }
    if (question_.splits.empty()) {
      errors_.push_back({.field = "space.disaggregation",
                         .message = "is empty",
                         .where = node.where(),
                         .hint = "[none, {prefill: 1, decode: 1}]"});
    }
  }

  void read_limits() {
    if (blocks_.limits) {
      question_.limits = plan::read_limits(*blocks_.limits, errors_);
    }
    if (words_.max_gpus) {
      std::int64_t most = 0;
      read_count("--max-gpus", words_.max_gpus, most);
      question_.limits.max_gpus = most;
    }
  }

  [[nodiscard]] bool is_stated(std::string_view path) const {
    const bool by_flag = std::ranges::any_of(
        question_.overrides, [&](const auto& change) { return change.path == path; });
    return by_flag || has_path(base_, path) || has_path(axes_.map(), path);
  }

  /// What is searched without being asked for.
  void add_usual_axes() {
    const auto add = [&](std::string_view path, Node node) {
      if (!is_stated(path)) {
        axes_.set(path, std::move(node));
      }
    };
    question_.states_requests = is_stated("workload.num_prompts") || is_stated("workload.duration");
    question_.seeks_pipelines = !is_stated(kPipelineParallel) && !is_stated(kTensorParallel);
    add(kTensorParallel, flag_node("auto"));
    add(kExpertParallel, flag_node("auto"));
    if (!blocks_.space) {
      std::vector<Node> budgets;
      for (const std::int64_t tokens : kUsualBudgets) {
        budgets.push_back(Node::integer(tokens, {}));
      }
      for (const std::string& engine : engines()) {
        add(fmt::format("engine.{}", scenario::own_key(engine_named(engine), kBatchedTokens)),
            Node::list(budgets, {}));
      }
    }
  }

  /// What routes requests must be there, and be something that the deployment's files can bring
  /// about.
  void take_routers() {
    const std::vector<Node> stated = values_of(kRouter);
    if (stated.empty() && !words_.routers.empty()) {
      question_.assumed_router = words_.routers.front();
    }
    for (const Node& router : stated) {
      if (!router.is_string()) {
        continue;
      }
      if (auto found = routing::find_router(router.as_string()); !found) {
        core::Error error = found.error().front();
        error.field = std::string(kRouter);
        error.where = router.where();
        errors_.push_back(std::move(error));
      } else if (!words_.routers.empty() &&
                 std::ranges::find(words_.routers, router.as_string()) == words_.routers.end()) {
        errors_.push_back({.field = std::string(kRouter),
                           .message = fmt::format("found \"{}\", expected what files for {} can "
                                                  "bring about: {}",
                                                  router.as_string(),
                                                  words_.routers_of,
                                                  fmt::join(words_.routers, ", ")),
                           .where = router.where()});
      }
    }
  }

  /// Settings of a scenario that a plan finds or sets itself.
  void refuse_answers() {
    struct Answer {
      std::string_view path;
      const char* hint;
      bool by_flag_alone = false;  ///< A file may be a scenario that is run, too.
      const char* message = "is what a plan finds itself";
    };
    constexpr std::array kAnswers = {
        Answer{.path = "cluster.instances", .hint = "--replicas 4 states how many"},
        Answer{.path = "cluster.disaggregation.prefill_instances",
               .hint = "space: {disaggregation: [{prefill: 1, decode: 1}]}"},
        Answer{.path = "workload.num_prompts",
               .hint = "--effort quick runs a quarter of the requests",
               .by_flag_alone = true},
        Answer{.path = "warmup",
               .hint = "--effort full runs four times as many requests",
               .by_flag_alone = true},
        Answer{.path = "cluster.price_per_hour",
               .hint = "--prices FILE",
               .by_flag_alone = true,
               .message = "a plan reads prices by the GPUs' names"}};
    for (const Answer& answer : kAnswers) {
      const bool is_flag = std::ranges::any_of(
          question_.overrides, [&](const auto& change) { return change.path == answer.path; });
      if (is_flag || (!answer.by_flag_alone && is_stated(answer.path))) {
        problem(std::string(answer.path), answer.message, answer.hint);
      }
    }
  }

  /// What the scenario has at a path; a word in place of a section is what names it.
  [[nodiscard]] const Node* stated_at(std::string_view path) const {
    const Node* node = &base_;
    for (std::size_t from = 0;;) {
      if (!node->is_map()) {
        const bool is_name = scenario::naming_key(path.substr(0, from - 1)) == path.substr(from);
        return is_name ? node : nullptr;
      }
      const std::size_t dot = path.find('.', from);
      node = node->find(path.substr(from, dot - from));
      if (node == nullptr || dot == std::string_view::npos) {
        return node;
      }
      from = dot + 1;
    }
  }

  /// The values that a setting may take.
  [[nodiscard]] std::vector<Node> values_of(std::string_view path) const {
    const Node axes = axes_.map();
    if (const Node* axis = axes.find(path)) {
      return axis->is_list() ? axis->items() : std::vector<Node>{*axis};
    }
    for (const auto& change : question_.overrides) {
      if (change.path == path) {
        return {flag_node(change.text)};
      }
    }
    const Node* stated = stated_at(path);
    const Node* name = stated != nullptr && stated->is_map() ? stated->find("name") : nullptr;
    stated = name != nullptr ? name : stated;
    return stated == nullptr ? std::vector<Node>{} : std::vector<Node>{*stated};
  }

  /// Networks, GPUs and engines that there are not: named before anything is tried.
  void check_names() {
    const auto check = [&](std::string_view path, const auto& find) {
      const std::vector<Node> values = values_of(path);
      for (const Node& value : values) {
        if (!value.is_string()) {
          continue;  // The axes say what is wrong with it.
        }
        const auto found = find(value.as_string());
        for (core::Error error : found ? core::Errors{} : found.error()) {
          error.field = std::string(path);
          error.where = value.where();
          errors_.push_back(std::move(error));
        }
      }
      if (values.empty() && path != kEngineVersion) {
        problem(std::string(path), "is missing", fmt::format("--{0} NAME: `list {0}s`", path));
      }
    };
    check("model", [](const std::string& name) { return model::find_model_document(name); });
    check("gpu", [](const std::string& name) { return hardware::find_gpu(name); });
    check(kEngineVersion, [](const std::string& name) {
      return engine::find_engine(scenario::named_version(name));
    });
  }

  [[nodiscard]] std::vector<hardware::GpuSpec> gpus() const {
    std::vector<hardware::GpuSpec> found;
    for (const Node& value : values_of("gpu")) {
      if (value.is_string()) {
        if (auto gpu = hardware::find_gpu(value.as_string())) {
          found.push_back(std::move(*gpu));
        }
      }
    }
    return found;
  }

  void read_count(const char* flag, const std::optional<std::string>& text, std::int64_t& out) {
    if (!text) {
      return;
    }
    const auto count = core::parse_whole<std::int64_t>(*text);
    if (!count || *count < 1 || *count > kCounts.highest) {
      problem(flag, fmt::format("found \"{}\", expected a whole number from 1", *text));
    }
    out = count.value_or(out);
  }

  void read_number(const char* flag,
                   const std::optional<std::string>& text,
                   double lowest,
                   double highest,
                   double& out) {
    if (!text) {
      return;
    }
    const auto number = core::parse_whole<double>(*text);
    if (!number || !(*number >= lowest && *number <= highest)) {
      problem(flag, fmt::format("found \"{}\", expected {} to {}", *text, lowest, highest));
    }
    out = number.value_or(out);
  }

  /// The blocks of a plan beside its scenario.
  struct Blocks {
    std::optional<Node> space;
    std::optional<Node> limits;
    std::optional<Node> slo;
    std::optional<Node> objective;
    std::optional<Node> cost;
    std::optional<Node> mix;
    std::optional<Node> maximize;
  };

  const QuestionWords& words_;
  core::Errors errors_;
  Question question_;
  Node base_;
  Blocks blocks_;
  std::vector<scenario::Override> listed_;
  Members axes_;
};

}  // namespace

double multiple_of(Effort effort) {
  return effort == Effort::kQuick ? 0.25 : effort == Effort::kFull ? 4.0 : 1.0;
}

std::int64_t most_requests(Effort effort) {
  constexpr double kOfNormal = 4e7;
  return static_cast<std::int64_t>(kOfNormal * multiple_of(effort));
}

core::Result<Question> read_question(const QuestionWords& words) {
  return QuestionReader(words).read();
}

}  // namespace ridgeline::plan
