#include "cli/bench_words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/word_lists.hpp"
#include "core/result.hpp"

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
      {"random", false, {{"input-len", "1024"}, {"output-len", "128"}}},
      {"prefix_repetition",
       false,
       {{"prefix-len", "256"},
        {"input-len", "256"},
        {"num-prefixes", "10"},
        {"output-len", "128"}}},
      {"sharegpt", true, {}},
      {"burstgpt", true, {}},
      {"custom", true, {}},
  };
  return kSets;
}

/// Rewrites flags one by one and notes every problem.
class Rewriter {
 public:
  Rewriter(Arguments arguments, bool beside_file)
      : arguments_(std::move(arguments)), beside_file_(beside_file) {}

  core::Result<Arguments> run() {
    ignore_eos();
    roofline();
    infinite_rate();
    data_set();
    range_ratio();
    if (!errors_.empty()) {
      return core::fail(std::move(errors_));
    }
    return std::move(arguments_);
  }

 private:
  GivenFlag* find(std::string_view name) {
    const auto found = std::ranges::find(arguments_.flags, name, &GivenFlag::name);
    return found == arguments_.flags.end() ? nullptr : &*found;
  }
  /// Takes a flag out, and returns it.
  std::optional<GivenFlag> take(std::string_view name) {
    GivenFlag* flag = find(name);
    if (flag == nullptr) {
      return std::nullopt;
    }
    GivenFlag taken = std::move(*flag);
    arguments_.flags.erase(arguments_.flags.begin() + (flag - arguments_.flags.data()));
    return taken;
  }
  void fill(std::string_view name, std::string_view value, const std::string& typed) {
    if (find(name) == nullptr) {
      arguments_.flags.push_back(
          {.name = std::string(name), .value = std::string(value), .typed = typed});
    }
  }
  void problem(std::string field, std::string message, std::string hint = {}) {
    errors_.push_back({.field = std::move(field),
                       .message = std::move(message),
                       .where = {.file = "command line"},
                       .hint = std::move(hint)});
  }

  void ignore_eos() {
    const auto flag = take("ignore-eos");
    if (flag && flag->value != "true") {
      problem(flag->typed, "is always so: a request generates exactly its output length");
    }
  }

  /// inference-sim's --latency-model roofline is --roofline here; other names are our own.
  void roofline() {
    GivenFlag* latency = find("latency");
    if (latency != nullptr && latency->typed == "--latency-model" && latency->value == "roofline" &&
        find("roofline") == nullptr) {
      latency->name = "roofline";
      latency->value = "true";
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
      fill(name, value, flag->typed);
    }
    // vLLM's default is --request-rate inf.
    if (find("request-rate") == nullptr) {
      fill("arrivals", "at-once", flag->typed);
    }
  }

  /// Whole lengths from floor(n (1 - ratio)) to ceil(n (1 + ratio)), each as likely: vLLM,
  /// RandomDataset.get_sampling_params.
  void range_ratio() {
    const auto flag = take("random-range-ratio");
    if (!flag) {
      return;
    }
    double ratio = 0.0;
    const char* end = flag->value.data() + flag->value.size();
    const auto [parsed, code] = std::from_chars(flag->value.data(), end, ratio);
    if (code != std::errc() || parsed != end || !(ratio >= 0.0 && ratio < 1.0)) {
      problem(flag->typed,
              fmt::format("found \"{}\", expected a number from 0 to below 1", flag->value));
      return;
    }
    for (const std::string_view name : {"input-len", "output-len"}) {
      GivenFlag* length = find(name);
      const auto tokens = length == nullptr ? std::nullopt : parse_positive(length->value);
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

  Arguments arguments_;
  bool beside_file_;
  core::Errors errors_;
};

}  // namespace

std::vector<FlagSpec> bench_flags() {
  using Takes = FlagSpec::Takes;
  std::vector<FlagSpec> flags;
  flags.push_back({.name = "dataset-name", .value = "NAME"});
  flags.push_back({.name = "random-range-ratio", .value = "RATIO"});
  flags.push_back({.name = "ignore-eos", .takes = Takes::kTruth});
  return flags;
}

core::Result<Arguments> in_our_words(Arguments arguments, bool beside_file) {
  return Rewriter(std::move(arguments), beside_file).run();
}

}  // namespace ridgeline::cli
