
#include "api/step.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/batch_text.hpp"
#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/picture_file.hpp"
#include "cli/verb_outputs.hpp"
#include "core/result.hpp"
#include "latency/kernel/formats_in_use.hpp"
#include "report/palette.hpp"
#include "report/result_json.hpp"
#include "report/roofline_svg.hpp"
#include "report/step_report.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::cli {
namespace {

std::vector<FlagSpec> step_flags() {
  using Takes = FlagSpec::Takes;
  std::vector<FlagSpec> flags = {
      {.name = "decode",
       .value = "CTX[xCOUNT],...",
       .help = "Sequences that process one token, by their KV length"},
      {.name = "prefill",
       .value = "PAST+NEW[xCOUNT],...",
       .help = "Prompt chunks: tokens before, tokens now"},
      {.name = "no-sample",
       .takes = Takes::kNothing,
       .help = "The chunks are not the last of their prompts"},
      {.name = "compare",
       .value = "A,B,...",
       .help = "Step-time models side by side, instead of --latency"},
      {.name = "svg", .value = "FILE", .help = "Draws the operators under the GPU's roofline"},
  };
  for (auto& flag : scenario_flags(ScenarioPart::kDeployment)) {
    flags.push_back(std::move(flag));
  }
  flags.push_back(output_flag());
  for (auto& flag : manner_flags("table|json")) {
    flags.push_back(std::move(flag));
  }
  return flags;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const auto comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(comma + 1);
  }
}

core::Result<void> draw(const std::string& path, const api::PricedStep& priced) {
  auto file = open_picture(path);
  if (!file) {
    return core::fail(file.error());
  }
  const auto& gpu = priced.deployment->gpu;
  file->stream() << report::roofline_svg(
      {.title = fmt::format("{}", fmt::join(priced.report.headline, ": ")),
       .subtitle = fmt::format("{} model", priced.report.model),
       .peaks = latency::kernel::formats_in_use(priced.deployment->network, gpu),
       .bandwidth = gpu.mem_bandwidth},
      priced.report.explanation);
  return file->commit();
}

core::Result<std::vector<api::PricedStep>> price_all(const Arguments& arguments) {
  core::Errors errors;
  auto text = api::parse_batch(
      arguments.value("decode"), arguments.value("prefill"), !arguments.has("no-sample"));
  auto loaded = load(arguments, scenario::Purpose::kLook);
  if (!text) {
    errors = text.error();
  }
  if (!loaded) {
    errors.insert(errors.end(), loaded.error().begin(), loaded.error().end());
  }
  const GivenFlag* compare = arguments.find("compare");
  if (compare != nullptr && arguments.has("latency")) {
    errors.push_back({.field = "--latency",
                      .message = "would be ignored: --compare names the models",
                      .where = {.file = "command line"}});
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return api::price_step(
      *loaded, *text, compare == nullptr ? std::vector<std::string>() : split(compare->value));
}

std::string show(const std::vector<api::PricedStep>& steps,
                 bool compared,
                 std::string_view format,
                 const report::TextStyle& style) {
  if (format == "json") {
    return report::json_text(api::steps_tree(steps, compared));
  }
  if (!compared) {
    return report::step_table(steps.front().report, style);
  }
  std::vector<report::StepReport> reports;
  reports.reserve(steps.size());
  for (const auto& step : steps) {
    reports.push_back(step.report);
  }
  return report::comparison_table(reports, style);
}

}  // namespace

ExitCode step_command(Words words) {
  const Opening opening{.usage = "step [scenario.yaml] [flags]",
                        .about = "Prices one engine step and shows every operator's share of it.",
                        .flags = step_flags(),
                        .formats = {"table", "json"}};
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  auto outputs = VerbOutputs::open(arguments, manners, opening.formats);
  if (!outputs) {
    return give_up(outputs.error(), manners);
  }
  const auto steps = price_all(arguments);
  if (!steps) {
    return give_up(steps.error(), manners);
  }
  if (const GivenFlag* svg = arguments.find("svg")) {
    if (const auto drawn = draw(svg->value, steps->front()); !drawn) {
      return give_up(drawn.error(), manners);
    }
  }
  return outputs->put_out(
      [&](std::string_view format, const report::TextStyle& style) {
        return show(*steps, arguments.has("compare"), format, style);
      },
      manners);
}

}  // namespace ridgeline::cli
