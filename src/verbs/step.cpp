#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "latency/kernel/formats_in_use.hpp"
#include "latency/step_time_model.hpp"
#include "report/chart/roofline_svg.hpp"
#include "report/palette.hpp"
#include "scenario/scenario.hpp"
#include "verbs/batch_text.hpp"
#include "verbs/priced_step.hpp"
#include "verbs/registry.hpp"
#include "verbs/step_view.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

std::string picture_of(const PricedStep& priced) {
  const auto& gpu = priced.deployment->gpu;
  std::vector<report::RooflinePeak> peaks;
  for (const auto& of : latency::kernel::formats_in_use(priced.deployment->network, gpu)) {
    peaks.push_back({.format = of.format, .peak = of.peak.value()});
  }
  std::vector<report::RooflinePart> parts;
  for (const latency::OperatorTime& part : priced.report.explanation.parts) {
    parts.push_back({.name = part.name,
                     .phase = part.phase,
                     .flops = part.flops.value(),
                     .bytes = part.bytes.value(),
                     .seconds = part.time.value()});
  }
  return report::roofline_svg({.title = fmt::format("{}", fmt::join(priced.report.headline, ": ")),
                               .subtitle = fmt::format("{} model", priced.report.model),
                               .peaks = std::move(peaks),
                               .bandwidth = gpu.mem_bandwidth.value()},
                              parts);
}

core::Result<Reply> step(Request& request, Host& /*host*/) {
  const std::string decode = request.take_text("decode");
  const std::string prefill = request.take_text("prefill");
  const bool samples = request.take_bool("samples", !request.take_bool("no_sample", false));
  const std::vector<std::string> models = request.take_texts("compare");
  const bool compared = !models.empty();
  const auto batch = parse_batch(decode, prefill, samples);
  request.keep(batch);
  const auto loaded = request.load(scenario::Purpose::kLook);
  request.keep(loaded);
  if (compared && request.states("latency.name")) {
    request.add(request.problem("latency", "would be ignored: --compare names the models"));
  }
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  auto priced = price_step(*loaded, *batch, models);
  if (!priced) {
    return core::fail(priced.error());
  }
  const auto steps = shared(std::move(*priced));
  Reply reply{.tree = [steps, compared] { return steps_tree(*steps, compared); }};
  add_views(reply, reply.tree, step_sheet);
  reply.artefacts["svg"] = [steps] { return picture_of(steps->front()); };
  return reply;
}

}  // namespace

Verb step_verb() {
  using Kind = Parameter::Kind;
  return {.name = "step",
          .summary = "price one batch and show where the time goes",
          .usage = "step [scenario.yaml] [flags]",
          .about = "Prices one engine step and shows every operator's share of it.",
          .scenario = ScenarioPart::kDeployment,
          .purpose = scenario::Purpose::kLook,
          .parameters = {{.key = "decode",
                          .value = "CTX[xCOUNT],...",
                          .help = "Sequences that process one token, by their KV length"},
                         {.key = "prefill",
                          .value = "PAST+NEW[xCOUNT],...",
                          .help = "Prompt chunks: tokens before, tokens now"},
                         {.key = "no_sample",
                          .kind = Kind::kSwitch,
                          .help = "The chunks are not the last of their prompts"},
                         {.key = "compare",
                          .kind = Kind::kWords,
                          .value = "A,B,...",
                          .help = "Step-time models side by side, instead of --latency"},
                         {.key = "svg",
                          .kind = Kind::kFile,
                          .value = "FILE",
                          .help = "Draws the operators under the GPU's roofline"},
                         scenario_parameters(),
                         output_parameter()},
          .formats = sheet_formats(),
          .run = step};
}

}  // namespace ridgeline::verbs
