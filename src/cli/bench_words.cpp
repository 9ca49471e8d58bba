#include "cli/bench_words.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
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
#include "verbs/head_shapes.hpp"

namespace ridgeline::cli {
namespace {

/// What a data set of `vllm bench serve` is here. Source of the defaults: vLLM,
/// vllm/benchmarks/datasets.py (add_dataset_parser).
struct DataSet {
  std::string_view name;
  bool is_file;
  std::vector<std::pair<std::string_view, std::string_view>> defaults;
};

const std::vector<DataSet>& data_sets() {
  static const std::vector<DataSet> kSets = {
      {"random", false, {{"input-len", "1024"}, {"output-len", "128"}, {"random-tokens", "true"}}},
      {"prefix_repetition",
       false,
       {{"prefix-len", "256"},
        {"input-len", "256"},
        {"num-prefixes", "10"},
        {"output-len", "128"},
        {"random-tokens", "true"}}},
      {"sonnet", false, {{"prefix-len", "200"}, {"output-len", "150"}}},
      {"sharegpt", true, {}},
      {"burstgpt", true, {}},
      {"custom", true, {}},
  };
  return kSets;
}

/// vLLM's sonnet prompts, the common prefix included, and that prefix.
constexpr std::int64_t kSonnetInput = 550;
constexpr std::int64_t kSonnetPrefix = 200;
constexpr std::string_view kProgram = "vllm bench serve";

class BenchWords final : FlagRewriter {
 public:
  BenchWords(Arguments& arguments, bool beside_file, core::Errors& errors)
      : FlagRewriter(arguments, errors), beside_file_(beside_file) {}

  void run() {
    ignore_eos();
    infinite_rate();
    goodput();
    data_set();
    range_ratio();
  }

 private:
  void ignore_eos() {
    const auto flag = take("ignore-eos");
    if (flag && flag->value != "true") {
      problem(flag->typed, "is always so: a request generates exactly its output length");
    }
  }

  /// `--goodput ttft:500 tpot:50 e2el:1000`, in milliseconds.
  void goodput() {
    const auto flag = take("goodput");
    if (!flag) {
      return;
    }
    constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kTargets = {
        {{"ttft", "slo-ttft"}, {"tpot", "slo-tpot"}, {"e2el", "slo-e2e"}}};
    std::string_view rest = flag->value;
    while (!rest.empty()) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
      const auto colon = word.find(':');
      const auto* const target = std::ranges::find(
          kTargets, word.substr(0, colon), &decltype(kTargets)::value_type::first);
      if (colon == std::string_view::npos || target == kTargets.end()) {
        problem(flag->typed,
                fmt::format("found \"{}\", expected ttft:MS, tpot:MS or e2el:MS", word));
        continue;
      }
      if (const GivenFlag* given = find(target->second); given != nullptr) {
        problem(flag->typed, fmt::format("{} is given as {} too", target->first, given->typed));
        continue;
      }
      fill(target->second, fmt::format("{}ms", word.substr(colon + 1)), flag->typed);
    }
  }

  void infinite_rate() {
    const GivenFlag* rate = find("request-rate");
    if (rate == nullptr || (rate->value != "inf" && rate->value != "infinity")) {
      return;
    }
    const auto taken = take("request-rate");
    if (const GivenFlag* arrivals = find("arrivals"); arrivals != nullptr) {
      if (arrivals->value != "at-once") {
        problem(taken->typed, "inf sends all requests at once, and --arrivals says otherwise");
      }
      return;
    }
    fill("arrivals", "at-once", taken->typed);
  }

  void data_set() {
    const auto flag = take("dataset-name");
    if (!flag) {
      return;
    }
    const auto set = std::ranges::find(data_sets(), flag->value, &DataSet::name);
    if (set == data_sets().end()) {
      std::vector<std::string> names;
      for (const DataSet& known : data_sets()) {
        names.emplace_back(known.name);
      }
      errors_.push_back(bad_choice("dataset-name", flag->value, names));
      return;
    }
    if (set->name == "sonnet") {
      sonnet();
    }
    const GivenFlag* trace = find("trace");
    if (set->is_file && trace == nullptr) {
      problem(flag->typed,
              fmt::format("{} is a file, and none is named", flag->value),
              "--dataset-path FILE, or --trace FILE");
      return;
    }
    if (!set->is_file && trace != nullptr) {
      problem(trace->typed, fmt::format("would be ignored: {} has no file", flag->value));
      return;
    }
    if (beside_file_) {
      return;
    }
    for (const auto& [name, value] : set->defaults) {
      if (name.ends_with("-len")) {
        fill_length(name, value, flag->typed, kProgram);
      } else {
        fill(name, value, flag->typed);
      }
    }
    // vLLM's default is --request-rate inf.
    if (find("request-rate") == nullptr) {
      fill("arrivals", "at-once", flag->typed);
    }
  }

  /// vLLM cuts its prompts from a file of verses, whose length does not matter; their length
  /// includes the prefix.
  void sonnet() {
    if (const GivenFlag* verses = find("trace");
        verses != nullptr && verses->typed == "--dataset-path") {
      pass_over(verses->typed, "sonnet's prompts are as long as --sonnet-input-len says");
      take("trace");
    }
    const auto input = take("sonnet-input-len");
    const auto whole = input ? verbs::parse_positive(input->value) : kSonnetInput;
    const GivenFlag* given = find("prefix-len");
    const auto prefix = given == nullptr ? kSonnetPrefix : verbs::parse_positive(given->value);
    if (!whole || !prefix || *whole <= *prefix) {
      problem(input ? input->typed : given->typed,
              "expected --sonnet-input-len and --sonnet-prefix-len to be whole numbers, the first "
              "of them larger");
      return;
    }
    const std::string rest = fmt::format("{}", *whole - *prefix);
    if (input) {
      fill("input-len", rest, input->typed);
    } else {
      fill_length("input-len", rest, "--dataset-name", kProgram);
    }
  }

  /// Whole lengths from floor(n (1 - ratio)) to ceil(n (1 + ratio)), each as likely: vLLM,
  /// RandomDataset.get_sampling_params.
  void range_ratio() {
    const auto flag = take("random-range-ratio");
    if (!flag) {
      return;
    }
    const double ratio = core::parse_whole<double>(flag->value).value_or(-1.0);
    if (!(ratio >= 0.0 && ratio < 1.0)) {
      problem(flag->typed,
              fmt::format("found \"{}\", expected a number from 0 to below 1", flag->value));
      return;
    }
    for (const std::string_view name : {"input-len", "output-len"}) {
      GivenFlag* length = find(name);
      const auto tokens = length == nullptr ? std::nullopt : verbs::parse_positive(length->value);
      if (!tokens) {
        problem(flag->typed,
                fmt::format("has nothing to vary: --{} is not a whole number", name),
                "--random-input-len 1024 --random-output-len 128");
        continue;
      }
      const auto n = static_cast<double>(*tokens);
      const auto lowest = static_cast<std::int64_t>(std::floor(n * (1.0 - ratio)));
      const auto highest = static_cast<std::int64_t>(std::ceil(n * (1.0 + ratio)));
      length->value = fmt::format("{{distribution: uniform, min: {}, max: {}}}",
                                  std::max<std::int64_t>(lowest, 1),
                                  highest);
    }
  }

  bool beside_file_;
};

}  // namespace

std::vector<FlagSpec> bench_flags() {
  using Takes = FlagSpec::Takes;
  std::vector<FlagSpec> flags;
  flags.push_back({.name = "dataset-name", .value = "NAME"});
  flags.push_back({.name = "random-range-ratio", .value = "RATIO"});
  flags.push_back({.name = "ignore-eos", .takes = Takes::kTruth});
  flags.push_back({.name = "sonnet-input-len", .value = "N"});
  flags.push_back({.name = "goodput", .many = true, .value = "ttft:MS tpot:MS e2el:MS"});
  return flags;
}

std::vector<FlagSpec> saved_result_flags() {
  std::vector<FlagSpec> flags;
  for (const char* name : {"save-result", "save-detailed"}) {
    flags.push_back({.name = name, .takes = FlagSpec::Takes::kTruth});
  }
  flags.push_back({.name = "result-filename", .value = "FILE"});
  flags.push_back({.name = "result-dir", .value = "FOLDER"});
  return flags;
}

void take_saved_result(Arguments& arguments) {
  const bool wanted = arguments.value("save-result") == "true" || arguments.has("result-filename");
  if (!wanted) {
    return;
  }
  const std::string network = arguments.value("model", "run");
  const std::string rate = arguments.value("request-rate", "inf");
  const std::string file = arguments.value(
      "result-filename",
      fmt::format("vllm-{}qps-{}.json", rate, network.substr(network.find_last_of('/') + 1)));
  const auto path = std::filesystem::path(arguments.value("result-dir")) / file;
  arguments.flags.push_back({.name = "client-results",
                             .value = fmt::format("vllm-bench={}", path.string()),
                             .typed = "--save-result"});
}

void take_bench_words(Arguments& arguments, bool beside_file, core::Errors& errors) {
  BenchWords(arguments, beside_file, errors).run();
}

}  // namespace ridgeline::cli
