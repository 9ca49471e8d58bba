#include "cli/help.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "core/version.hpp"
#include "report/format.hpp"
#include "report/text_lines.hpp"
#include "scenario/options.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::cli {

std::string first_page() {
  std::string text = fmt::format(
      "ridgeline {}: how fast will this network be served on that GPU, and what holds it up?\n"
      "\n"
      "  ridgeline run --model llama-3.1-8b --gpu h100 --request-rate 8 \\\n"
      "      --input-len 512 --output-len 256\n"
      "  ridgeline replay --trace requests.csv --model llama-3.1-70b --gpu h100 --tp 4\n"
      "  ridgeline step --model llama-3.1-8b --gpu h100 --decode 700x32\n"
      "\n",
      core::version());
  for (const auto& verb : verbs::verbs()) {
    if (!verb.is_command()) {
      text += fmt::format("  {:<11} {}\n", verb.name, verb.summary);
    }
  }
  text +=
      "\n"
      "`ridgeline VERB --help` shows a verb's flags, `ridgeline help options` every setting of a "
      "scenario,\n"
      "`ridgeline help coming-from` what flags of vLLM and inference-sim are called here, "
      "`ridgeline "
      "help\n"
      "glossary` what words of the original documents are.\n"
      "A flag is a setting's key with dashes; a scenario file holds the same settings as YAML or "
      "JSON.\n";
  return text;
}

std::string verb_page(std::string_view usage,
                      std::string_view about,
                      std::span<const FlagSpec> flags,
                      int columns) {
  std::string text = fmt::format("usage: ridgeline {}\n\n{}\n\n", usage, about);
  const auto left_of = [](const FlagSpec& flag) {
    const std::string letter = flag.letter == 0 ? "" : fmt::format("-{}, ", flag.letter);
    const bool may_take = flag.takes == FlagSpec::Takes::kNothing && !flag.value.empty();
    const std::string value = flag.takes == FlagSpec::Takes::kValue ? fmt::format(" {}", flag.value)
                              : may_take ? fmt::format(" [{}]", flag.value)
                                         : std::string();
    const std::string_view negation = flag.takes == FlagSpec::Takes::kTruth ? "[no-]" : "";
    return fmt::format("{}--{}{}{}", letter, negation, flag.name, value);
  };
  constexpr std::size_t kWidest = 34;
  constexpr int kWidestPage = 100;
  const report::LineLayout layout{
      .width = static_cast<std::size_t>(std::clamp(columns, verbs::kNarrowest, kWidestPage)),
      .indent = kWidest + 4,
      .separator = " "};
  for (const auto& flag : flags) {
    if (flag.help.empty() || flag.takes == FlagSpec::Takes::kRefused) {
      continue;
    }
    std::string left = left_of(flag);
    if (left.size() > kWidest) {
      text += fmt::format("  {}\n", left);
      left.clear();
    }
    text +=
        report::wrapped(fmt::format("  {:<{}}  ", left, kWidest), report::words(flag.help), layout);
  }
  return text;
}

std::string options_page() {
  std::string text =
      "The settings of a scenario, by their key in YAML and JSON. A flag wins over the file, the "
      "file over the\n"
      "default. Durations are numbers of seconds or have a unit: 250ms, 60s, 10m, 1h, 1d; latency "
      "targets\n"
      "always have it.\n";
  for (const auto& option : scenario::options()) {
    text += fmt::format("\n{}  (--{})\n  {}\n", option.path, option.flag, option.help);
    const std::string range = option.range_text();
    const std::string unit = option.unit.empty() ? "" : fmt::format(", {}", option.unit);
    text += fmt::format(
        "  {}{}{}\n", option.kind(), unit, range.empty() ? "" : fmt::format(", {}", range));
    text += fmt::format("  default: {}\n  example: {}\n", option.default_text(), option.example);
  }
  text +=
      "\nset  (--set)\n"
      "  What if: changes values of the network's or the GPU's document before the run\n"
      "  a map of model.KEY and hardware.KEY\n"
      "  example: --set model.num_hidden_layers=40 --set hardware.mem_bandwidth=4TB/s\n";
  return text;
}

}  // namespace ridgeline::cli
