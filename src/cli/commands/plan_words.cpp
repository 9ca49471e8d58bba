#include "cli/commands/plan_words.hpp"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "cli/flag_rewriter.hpp"
#include "cli/progress.hpp"
#include "core/result.hpp"
#include "plan/question.hpp"
#include "scenario/foreign_flags.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::cli {
namespace {

const scenario::ForeignProgram& aiconfigurator() {
  return scenario::foreign_program("aiconfigurator");
}

std::vector<FlagSpec> aiconfigurator_flags() {
  std::vector<FlagSpec> flags;
  for (const scenario::ForeignFlag& flag : aiconfigurator().flags) {
    flags.push_back({.name = flag.name, .value = flag.takes.empty() ? "VALUE" : flag.takes});
  }
  return flags;
}

class AIConfiguratorWords final : FlagRewriter {
 public:
  AIConfiguratorWords(Arguments& arguments, core::Errors& errors)
      : FlagRewriter(arguments, errors) {}

  void run() {
    take_input();
    for (const scenario::ForeignFlag& theirs : aiconfigurator().flags) {
      if (const auto flag = take(theirs.name)) {
        put(*flag, theirs.text, theirs.our_word(flag->value) + theirs.unit);
      }
    }
  }

 private:
  void put(const GivenFlag& flag, std::string_view name, std::string value) {
    if (const GivenFlag* other = find(name)) {
      problem(flag.typed, fmt::format("says the same as {}: give one of them", other->typed));
      return;
    }
    arguments_.flags.push_back(
        {.name = std::string(name), .value = std::move(value), .typed = flag.typed});
  }

  /// Its --isl counts the prefix, ours what comes behind it.
  void take_input() {
    const auto isl = take("isl");
    if (!isl) {
      return;
    }
    const GivenFlag* prefix = find("prefix");
    std::int64_t whole = 0;
    std::int64_t shared = 0;
    const bool are_numbers =
        read(isl->value, whole) && (prefix == nullptr || read(prefix->value, shared));
    if (prefix == nullptr) {
      put(*isl, "input-len", isl->value);
    } else if (!are_numbers || shared >= whole) {
      problem(isl->typed,
              fmt::format("found \"{}\" with a prefix of \"{}\": expected a longer prompt",
                          isl->value,
                          prefix->value));
    } else {
      put(*isl, "input-len", fmt::format("{}", whole - shared));
    }
  }

  static bool read(const std::string& text, std::int64_t& out) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, out);
    return error == std::errc() && stop == end;
  }
};

std::vector<FlagSpec> plan_flags() {
  return {
      {.name = "axis",
       .repeatable = true,
       .value = "KEY=V,V",
       .help = "Searches a setting: values by commas, or {from: 64, to: 512, factor: 2}"},
      {.name = "objective",
       .value = "NAME,...",
       .help = "What is to be small: gpus, usd_per_hour, usd_per_mtok, watts, joules_per_token; "
               "several: those that none dominates"},
      {.name = "slo",
       .value = "PRESET",
       .help = "Targets of MLPerf: mlperf/llama2-70b-interactive"},
      {.name = "maximize",
       .value = "throughput",
       .help = "Asks instead for the most output tokens/s of --gpus within the targets: at as many "
               "clients as meet them, or with --request-rate auto at the rate"},
      {.name = "gpus", .value = "N", .help = "GPUs to share out, at most: as --max-gpus"},
      {.name = "replicas", .value = "N,...", .help = "Only these numbers of replicas"},
      {.name = "max-gpus", .value = "N", .help = "GPUs of all replicas together, at most"},
      {.name = "prices", .value = "FILE", .help = "Prices of GPUs per hour"},
      {.name = "accept-bounds",
       .takes = FlagSpec::Takes::kNothing,
       .help = "Ranks GPUs of which only bounds are known among the others: priced by a datasheet "
               "alone, or watts"},
      {.name = "confidence",
       .value = "SHARE",
       .help = "How sure the answer must be to meet the targets; 0.9 by default"},
      {.name = "top-n", .value = "N", .help = "Deployments that are shown; 5 by default"},
      {.name = "effort",
       .value = "quick|normal|full",
       .help = "A quarter of the requests, or four times as many"},
      {.name = "explain",
       .value = "ID",
       .help = "Says instead why this deployment is where it is: its id or the begin of it, or its "
               "place"},
      {.name = "what-to-measure",
       .takes = FlagSpec::Takes::kNothing,
       .help = "Says instead what to measure first, with the command; --top-n of them"},
      {.name = "kernels-only",
       .takes = FlagSpec::Takes::kNothing,
       .help = "With --what-to-measure: times of kernels alone, as `kernels plan`"},
      {.name = "save-dir",
       .value = "DIR",
       .help = "Writes the files of the best deployments: DIR/top1 and so on"},
      {.name = "deployment-target",
       .repeatable = true,
       .value = "NAME",
       .help = "What runs them: vllm, docker, kubernetes ...; vllm by default"},
      {.name = "store",
       .value = "DIR",
       .help = "Keeps what runs found: an interrupted plan goes on from there"},
      {.name = "svg",
       .value = "FILE",
       .help = "Draws what deployments cost against what they serve"},
      {.name = "jobs", .value = "N", .help = "Runs at a time; one per core by default"},
      output_flag(),
      progress_flag(),
  };
}

std::optional<std::string> text_of(const Arguments& arguments, std::string_view flag) {
  return arguments.has(flag) ? std::optional(arguments.value(flag)) : std::nullopt;
}

}  // namespace

Opening plan_opening() {
  Opening opening{
      .usage = "plan [plan.yaml] [flags]",
      .about =
          "Which deployment serves a workload within its targets at least cost, and how sure that "
          "is.\n"
          "The rate is the whole system's. Lists by commas are searched: --gpu h100,h200; tensor "
          "parallelism\n"
          "is tried at every width unless it is stated. In a file, `space`, `slo`, `limits`, "
          "`objective` and `cost`\n"
          "stand beside the keys of a scenario. Targets (--slo-ttft 500ms) are of the p99, or of "
          "--slo-statistic.\n"
          "Exit code 4 when nothing meets the targets, 99 when nothing does surely enough, 130 "
          "after Ctrl-C\n"
          "with the best so far.",
      .flags = plan_flags(),
      .formats = {"table", "json", "html"}};
  for (auto& flag : scenario_flags(ScenarioPart::kWhole)) {
    opening.flags.push_back(std::move(flag));
  }
  for (auto& flag : aiconfigurator_flags()) {
    opening.flags.push_back(std::move(flag));
  }
  for (auto& flag : manner_flags("table|json|html")) {
    opening.flags.push_back(std::move(flag));
  }
  return opening;
}

void take_aiconfigurator_words(Arguments& arguments, core::Errors& errors) {
  AIConfiguratorWords(arguments, errors).run();
}

core::Result<plan::Question> read_plan(const Arguments& given, const Routers& routers) {
  Arguments arguments = given;
  core::Errors errors;
  take_aiconfigurator_words(arguments, errors);
  const auto max_gpus = text_of(arguments, arguments.has("gpus") ? "gpus" : "max-gpus");
  if (arguments.has("gpus") && arguments.has("max-gpus")) {
    errors.push_back({.field = "--gpus",
                      .message = "says the same as --max-gpus: give one of them",
                      .where = {.file = "command line"}});
  }
  auto stated = stated_scenario(arguments, scenario::Purpose::kRun);
  if (!stated) {
    errors.insert(errors.end(), stated.error().begin(), stated.error().end());
    return core::fail(std::move(errors));
  }
  auto question = plan::read_question({.file = stated->file,
                                       .overrides = stated->overrides,
                                       .axes = arguments.values("axis"),
                                       .objective = text_of(arguments, "objective"),
                                       .maximize = text_of(arguments, "maximize"),
                                       .slo = text_of(arguments, "slo"),
                                       .replicas = text_of(arguments, "replicas"),
                                       .prices = text_of(arguments, "prices"),
                                       .effort = text_of(arguments, "effort"),
                                       .max_gpus = max_gpus,
                                       .top_n = text_of(arguments, "top-n"),
                                       .confidence = text_of(arguments, "confidence"),
                                       .accept_bounds = arguments.has("accept-bounds"),
                                       .routers = routers.names,
                                       .routers_of = routers.of});
  if (!question) {
    errors.insert(errors.end(), question.error().begin(), question.error().end());
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  question->warnings.insert(
      question->warnings.begin(), stated->warnings.begin(), stated->warnings.end());
  return question;
}

}  // namespace ridgeline::cli
