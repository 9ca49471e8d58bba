#include "cli/laboratory.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "core/result.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/record_reader.hpp"
#include "verbs/list_choices.hpp"
#include "verbs/request.hpp"

namespace ridgeline::cli {
namespace {

constexpr std::string_view kLaboratory = "ridgeline-lab";
constexpr auto kLaboratoryVerbs = std::to_array<std::string_view>({"study", "conform", "records"});
/// A step-time model that only the laboratory has: `--latency kernel-first`.
constexpr std::string_view kLaboratoryModel = "kernel-first";
/// How words of `records` begin that `validate` does not take.
constexpr auto kRecordsWords = std::to_array<std::string_view>(
    {"--ablation", "--leave-out", "--ranking", "--coverage-left-out", "--bands-out"});
/// Thresholds of a ranking: `--fail-over regret@0.9=2`.
constexpr auto kRecordsThresholds = std::to_array<std::string_view>({"regret@", "violations@"});

/// The values that a word gives: behind the "=" of its flag, between commas.
std::vector<std::string> values_of(std::string_view word) {
  const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string_view::npos;
  return verbs::split_list(equals == std::string_view::npos ? word : word.substr(equals + 1));
}

bool is_records_word(std::string word) {
  const bool limits_a_ranking = std::ranges::any_of(values_of(word), [](std::string_view value) {
    return std::ranges::any_of(kRecordsThresholds, [&](std::string_view threshold) {
      return value.starts_with(threshold);
    });
  });
  word.resize(std::min(word.find('='), word.size()));
  std::ranges::replace(word, '_', '-');
  return limits_a_ranking || std::ranges::find(kRecordsWords, word) != kRecordsWords.end();
}

}  // namespace

bool is_laboratorys(std::string_view word) {
  return std::ranges::find(kLaboratoryVerbs, word) != kLaboratoryVerbs.end();
}

bool asks_for_laboratory(std::span<const std::string> words) {
  const auto names_model = [](const std::vector<std::string>& values) {
    return std::ranges::find(values, kLaboratoryModel) != values.end();
  };
  return std::ranges::any_of(
             words, [&](const std::string& word) { return names_model(values_of(word)); }) &&
         !names_model(verbs::known_values("latency"));
}

bool asks_for_records(std::string_view verb, std::span<const std::string> words) {
  return verb == "validate" && std::ranges::any_of(words, is_records_word);
}

bool needs_laboratory(const std::vector<evidence::validate::Evidence>& records) {
  return std::ranges::find(records,
                           evidence::validate::kNeedsLaboratory,
                           &evidence::validate::Evidence::problem) != records.end();
}

ExitCode run_laboratory(std::string_view verb, std::span<const std::string> words) {
  const std::string program = folder_of_program() / kLaboratory;
  std::vector<std::string> kept = {program, std::string(verb)};
  kept.insert(kept.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : kept) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  print_errors(
      {usage_error(
          "",
          fmt::format("'{}' needs {}, which does not stand beside this program", verb, kLaboratory),
          "./dev lab, in a checkout of the sources, builds it")},
      default_manners().err);
  return ExitCode::kUsage;
}

}  // namespace ridgeline::cli
