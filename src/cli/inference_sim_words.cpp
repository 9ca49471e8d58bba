#include "cli/inference_sim_words.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/flag_rewriter.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "scenario/foreign_flags.hpp"
#include "verbs/head_shapes.hpp"

namespace ridgeline::cli {
namespace {

/// What inference-sim draws where a length, its spread or the number of requests is left out.
/// Source: inference-sim, cmd/root.go (the workload `distribution`).
constexpr std::string_view kMeanTokens = "512";
constexpr std::string_view kTokensDeviation = "256";
constexpr std::string_view kLowestTokens = "2";
constexpr std::string_view kHighestTokens = "7000";
constexpr std::string_view kNumRequests = "100";
constexpr std::string_view kInferenceSim = "inference-sim";

/// A length here, and inference-sim's name for it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kLengths = {
    {{"input-len", "prompt-tokens"}, {"output-len", "output-tokens"}}};

class InferenceSimWords final : FlagRewriter {
 public:
  InferenceSimWords(Arguments& arguments, bool beside_file, core::Errors& errors)
      : FlagRewriter(arguments, errors), beside_file_(beside_file) {}

  void run() {
    latency_model();
    horizon();
    session_mode();
    trace_header();
    values();
    scorers();
    for (const auto& [length, tokens] : kLengths) {
      spread(length, tokens);
    }
    defaults();
  }

 private:
  /// inference-sim's --latency-model roofline is --roofline here; its fitted models, of today and
  /// before, are not here; other names are our own.
  void latency_model() {
    GivenFlag* latency = find("latency");
    if (latency == nullptr || latency->typed != "--latency-model") {
      return;
    }
    if (latency->value == "roofline" && find("roofline") == nullptr) {
      latency->name = "roofline";
      latency->value = "true";
      return;
    }
    constexpr std::array<std::string_view, 4> kFitted = {
        "trained-physics", "blackbox", "crossmodel", "trained-roofline"};
    if (std::ranges::find(kFitted, latency->value) != kFitted.end()) {
      pass_over("--latency-model " + latency->value,
                "fitted to inference-sim's own measurements; --latency kernel is taken");
      latency->value = "kernel";
    }
  }

  /// In microseconds. inference-sim stops there; here no request is sent from then on.
  void horizon() {
    const auto flag = take("horizon");
    if (!flag) {
      return;
    }
    const std::int64_t ticks = core::parse_whole<std::int64_t>(flag->value).value_or(0);
    if (ticks <= 0) {
      problem(flag->typed,
              fmt::format("found \"{}\", expected microseconds, a whole number", flag->value));
      return;
    }
    // inference-sim's default, the largest number, is no horizon.
    if (ticks == std::numeric_limits<std::int64_t>::max()) {
      return;
    }
    if (const GivenFlag* duration = find("duration"); duration != nullptr) {
      problem(flag->typed, fmt::format("{} is given too", duration->typed));
      return;
    }
    fill("duration", fmt::format("{}us", ticks), flag->typed);
    pass_over(fmt::format("{} {}", flag->typed, flag->value),
              "taken as --duration: no request is sent from then on, and those in flight are "
              "finished");
  }

  void session_mode() {
    const auto flag = take("session-mode");
    if (!flag) {
      return;
    }
    if (flag->value != "fixed" && flag->value != "closed-loop") {
      static const std::array<std::string, 2> kModes = {"fixed", "closed-loop"};
      errors_.push_back(bad_choice("session-mode", flag->value, kModes));
      return;
    }
    fill("trace-sessions", flag->value == "fixed" ? "recorded" : "answered", flag->typed);
  }

  /// The header of a TraceV2 is found beside its data.
  void trace_header() {
    const auto flag = take("trace-header");
    if (!flag) {
      return;
    }
    const GivenFlag* data = find("trace");
    if (data == nullptr) {
      fill("trace", flag->value, flag->typed);
      return;
    }
    namespace fs = std::filesystem;
    const fs::path header(flag->value);
    std::string name = header.stem().string();
    const std::string same = name;
    if (const auto at = name.find("header"); at != std::string::npos) {
      name.replace(at, std::string_view("header").size(), "data");
    }
    const fs::path file(data->value);
    if (header.parent_path() != file.parent_path() ||
        (file.stem() != name && file.stem() != same)) {
      problem(flag->typed,
              fmt::format("'{}' is not the header of '{}', expected it beside the data under the "
                          "same name, or as header.yaml beside data.csv",
                          flag->value,
                          data->value));
    }
  }

  /// Its words and units for ours.
  void values() {
    for (GivenFlag& given : arguments_.flags) {
      if (given.typed == "--" + given.name || !given.typed.starts_with("--")) {
        continue;
      }
      const scenario::ForeignFlag* theirs =
          scenario::foreign_program(kInferenceSim).find(std::string_view(given.typed).substr(2));
      if (theirs != nullptr && theirs->text == given.name) {
        const bool is_bare = given.value.find_first_not_of("0123456789") == std::string::npos;
        given.value = theirs->our_word(given.value) + (is_bare ? theirs->unit : "");
      }
    }
  }

  void scorers() {
    const auto scorers = take("routing-scorers");
    for (std::string_view rest = scorers ? std::string_view(scorers->value) : ""; !rest.empty();) {
      const std::string_view one = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(one.size() + 1, rest.size()));
      const auto colon = one.find(':');
      if (colon == std::string_view::npos) {
        problem(scorers->typed,
                fmt::format("found \"{}\", expected NAME:WEIGHT", one),
                "queue-depth:2,kv-utilization:1");
        continue;
      }
      arguments_.flags.push_back(
          {.name = "scorer",
           .value = fmt::format("{}={}", one.substr(0, colon), one.substr(colon + 1)),
           .typed = scorers->typed});
    }
  }

  /// --prompt-tokens-stdev, -min and -max make a length normal.
  void spread(std::string_view length, std::string_view tokens) {
    const auto deviation = take(fmt::format("{}-stdev", tokens));
    const auto fewest = take(fmt::format("{}-min", tokens));
    const auto most = take(fmt::format("{}-max", tokens));
    if (!deviation && !fewest && !most) {
      return;
    }
    const auto value_of = [](const std::optional<GivenFlag>& flag, std::string_view otherwise) {
      return flag ? std::string_view(flag->value) : otherwise;
    };
    fill_length(length, kMeanTokens, fmt::format("--{}", tokens), kInferenceSim);
    GivenFlag* mean = find(length);
    if (!verbs::parse_positive(mean->value)) {
      problem(mean->typed,
              fmt::format("found \"{}\" beside --{}-stdev, -min or -max, expected a whole number",
                          mean->value,
                          tokens));
      return;
    }
    mean->value = normal_length(mean->value,
                                value_of(deviation, kTokensDeviation),
                                value_of(fewest, kLowestTokens),
                                value_of(most, kHighestTokens));
  }
  static std::string normal_length(std::string_view mean,
                                   std::string_view deviation,
                                   std::string_view fewest,
                                   std::string_view most) {
    return fmt::format("{{distribution: normal, mean: {}, std: {}, min: {}, max: {}}}",
                       mean,
                       deviation,
                       fewest,
                       most);
  }

  /// A command line with --rate is one of inference-sim.
  void defaults() {
    const auto is_theirs = [](const GivenFlag& flag) {
      return flag.typed == "--rate" || flag.typed == "--num-requests" ||
             flag.typed == "--concurrency";
    };
    const auto theirs = std::ranges::find_if(arguments_.flags, is_theirs);
    if (theirs == arguments_.flags.end() || beside_file_ || find("trace") != nullptr ||
        find("workload") != nullptr || find("dataset-name") != nullptr) {
      return;
    }
    const std::string typed = theirs->typed;
    const std::string length =
        normal_length(kMeanTokens, kTokensDeviation, kLowestTokens, kHighestTokens);
    for (const auto& [name, tokens] : kLengths) {
      fill_length(name, length, typed, kInferenceSim);
    }
    if (find("duration") == nullptr) {
      fill("num-prompts", kNumRequests, typed);
    }
  }

  bool beside_file_;
};

}  // namespace

std::vector<FlagSpec> inference_sim_flags() {
  std::vector<FlagSpec> flags;
  flags.push_back({.name = "horizon", .value = "MICROSECONDS"});
  flags.push_back({.name = "session-mode", .value = "fixed|closed-loop"});
  flags.push_back({.name = "trace-header", .value = "FILE"});
  flags.push_back({.name = "log", .value = "LEVEL"});
  flags.push_back({.name = "routing-scorers", .value = "NAME:WEIGHT,..."});
  for (const auto& [length, tokens] : kLengths) {
    for (const char* end : {"stdev", "min", "max"}) {
      flags.push_back({.name = fmt::format("{}-{}", tokens, end), .value = "N"});
    }
  }
  return flags;
}

void take_inference_sim_words(Arguments& arguments, bool beside_file, core::Errors& errors) {
  InferenceSimWords(arguments, beside_file, errors).run();
}

}  // namespace ridgeline::cli
