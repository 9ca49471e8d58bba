#include "deploy/bench.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/characters.hpp"
#include "core/shell_word.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "deploy/header.hpp"
#include "deploy/layout.hpp"
#include "deploy/pod.hpp"
#include "deploy/shell.hpp"
#include "scenario/length.hpp"
#include "scenario/scenario.hpp"
#include "workload/options.hpp"

namespace ridgeline::deploy {
namespace {

/// A gamma distribution of this shape has gaps that are constant to 0.1 %.
constexpr double kSteady = 1e6;

/// A length as the client draws it: uniform in mean ± share.
struct Drawn {
  std::int64_t mean = 0;
  double share = 0.0;
  bool is_exact = true;
};

Drawn drawn(const workload::Length& length) {
  const double mean = scenario::mean_length(length);
  Drawn answer{
      .mean = static_cast<std::int64_t>(std::llround(mean)), .share = 0.0, .is_exact = false};
  if (std::holds_alternative<workload::FixedLength>(length)) {
    answer.is_exact = true;
  } else if (const auto* uniform = std::get_if<workload::UniformLength>(&length)) {
    const auto lowest = static_cast<double>(uniform->lowest.value());
    answer.share = (mean - lowest) / mean;
    answer.is_exact = true;
  }
  return answer;
}

std::string milliseconds(core::Duration duration) {
  return core::shortest(duration.to_seconds() * 1e3);
}

/// The workload as words of `vllm bench serve`, and what of it they do not say.
class Bench {
 public:
  Bench(const Input& input, const Layout& layout)
      : input_(input), workload_(input.resolved.workload.section), layout_(layout) {
    words_ = {fmt::format("--model {}", core::shell_word(layout.network)),
              fmt::format("--base-url http://localhost:{}", kPort),
              "--dataset-name random --ignore-eos",
              fmt::format("--seed {}", input.resolved.run.seed)};
    put_lengths();
    put_prefix();
    put_load();
    put_targets();
    const auto& sampling = input.resolved.deployment->network.sampling;
    if (sampling.truncates() || sampling.penalises()) {
      unsaid_.emplace_back(
          "this client states temperature 0, and the scenario samples as generation_config.json "
          "says");
    }
    if (workload_.structured_output_ratio.value_or(0.0) > 0.0) {
      unsaid_.emplace_back("structured outputs are not asked for");
    }
  }

  [[nodiscard]] std::string text() const {
    std::string text = fmt::format("#!/usr/bin/env bash\n{}", first_lines(layout_));
    text += "# Checks the prediction with vLLM's own client, which is to run next to the server.\n";
    for (const std::string& line : unsaid_) {
      text += core::comment_line(fmt::format("Not as in the scenario: {}.", line));
    }
    text += "set -euo pipefail\n";
    const auto& rate = workload_.request_rate;
    const std::string own = rate ? core::shortest(*rate) : "inf";
    text += fmt::format("\n# At the scenario's {}.\n", rate ? own + " requests/s" : "load");
    text += run(own, "at-rate.json");
    if (input_.capacity_rps) {
      const std::string most = fmt::format("{:.4g}", *input_.capacity_rps);
      text += fmt::format("\n# At the capacity that is predicted, {} requests/s.\n", most);
      text += run(most, "at-capacity.json");
    }
    return text;
  }

 private:
  [[nodiscard]] std::string run(const std::string& rate, std::string_view file) const {
    std::vector<std::string> words = words_;
    words.push_back(fmt::format("--request-rate {}", rate));
    words.push_back(fmt::format("--save-result --result-filename {}", file));
    return command_text("vllm bench serve", words, "");
  }

  void put_lengths() {
    const Drawn input = drawn(*workload_.input_len);
    const Drawn output = drawn(*workload_.output_len);
    words_.push_back(
        fmt::format("--random-input-len {} --random-output-len {}", input.mean, output.mean));
    // One share for both.
    const bool alike = input.share == output.share;
    words_.push_back(
        fmt::format("--random-range-ratio {}", alike ? core::shortest(input.share) : "0"));
    if (!input.is_exact || !output.is_exact || !alike) {
      unsaid_.emplace_back(
          "all requests have the mean lengths, which this client cannot draw as there");
    }
  }

  void put_prefix() {
    const std::int64_t prefix = workload_.prefix_len.value_or(0);
    if (prefix == 0) {
      return;
    }
    words_.push_back(fmt::format("--random-prefix-len {}", prefix));
    if (workload_.num_prefixes.value_or(1) > 1) {
      unsaid_.push_back(
          fmt::format("all requests share one prefix, not {}", *workload_.num_prefixes));
    }
  }

  void put_load() {
    words_.push_back(fmt::format("--num-prompts {}", requests()));
    if (workload_.max_concurrency) {
      words_.push_back(fmt::format("--max-concurrency {}", *workload_.max_concurrency));
    }
    if (workload_.arrivals == "constant") {
      words_.push_back(fmt::format("--burstiness {}", core::shortest(kSteady)));
    } else if (workload_.burstiness.value_or(1.0) != 1.0) {
      words_.push_back(fmt::format("--burstiness {}", core::shortest(*workload_.burstiness)));
    }
    if (workload_.think_time) {
      unsaid_.emplace_back("users do not think between requests");
    }
  }

  /// As many as the scenario sends, at its rate where it states a duration.
  [[nodiscard]] std::int64_t requests() const {
    constexpr std::int64_t kUnknown = 1000;  // `vllm bench serve`'s own default.
    if (workload_.num_prompts) {
      return *workload_.num_prompts;
    }
    return workload_.duration && workload_.request_rate
               ? std::max<std::int64_t>(
                     1, std::llround(*workload_.request_rate * workload_.duration->to_seconds()))
               : kUnknown;
  }

  void put_targets() {
    words_.emplace_back("--percentile-metrics ttft,tpot,itl,e2el --metric-percentiles 50,90,95,99");
    const scenario::SloSection& slo = input_.resolved.run.slo;
    std::vector<std::string> goals;
    const auto add = [&](std::string_view name, const std::optional<core::Duration>& target) {
      if (target) {
        goals.push_back(fmt::format("{}:{}", name, milliseconds(*target)));
      }
    };
    add("ttft", slo.ttft);
    add("tpot", slo.tpot);
    add("e2el", slo.e2e);
    if (!goals.empty()) {
      words_.push_back(fmt::format("--goodput {}", fmt::join(goals, " ")));
    }
  }

  /// The header without the part for reading back.
  static std::string first_lines(const Layout& layout) {
    std::string text;
    std::string_view rest = layout.header;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n') + 1;
      const std::string_view line = rest.substr(0, end);
      if (!line.starts_with("#:") && line != kAssumedLine) {
        text += line;
      }
      rest.remove_prefix(end);
    }
    return text;
  }

  const Input& input_;
  const scenario::WorkloadSection& workload_;
  const Layout& layout_;
  std::vector<std::string> words_;
  std::vector<std::string> unsaid_;
};

}  // namespace

std::string bench_text(const Input& input, const Layout& layout) {
  const scenario::WorkloadSection& workload = input.resolved.workload.section;
  if (workload.trace || !workload.input_len || !workload.output_len) {
    return {};
  }
  return Bench(input, layout).text();
}

}  // namespace ridgeline::deploy
