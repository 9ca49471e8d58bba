#include "scenario/structured_outputs.hpp"

#include <string_view>

#include <fmt/format.h>

#include "core/time.hpp"
#include "engine/options.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/resolution.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

constexpr std::string_view kRatio = "workload.structured_output_ratio";

/// A schema of JSON, and a mask of its grammar. From memory of Y. Dong et al., "XGrammar: Flexible
/// and Efficient Structured Generation Engine for Large Language Models" (arXiv 2411.15100), whose
/// masks take tens of microseconds; not looked up.
constexpr engine::GrammarTimes kDefaults = {.compile = core::Duration::milliseconds(100),
                                            .mask = core::Duration::microseconds(40)};

}  // namespace

bool has_structured_outputs(const WorkloadSection& workload) {
  return workload.structured_output_ratio.value_or(0.0) > 0.0;
}

void resolve_structured_outputs(Resolution& work) {
  if (!has_structured_outputs(work.workload.section)) {
    return;
  }
  engine::EngineOptions& options = work.out->engine;
  if (has_own_settings(work.engine())) {
    work.note(kRatio,
              fmt::format("structured outputs are not simulated for {}", options.scheduler),
              "--engine vllm, or leave it out");
    return;
  }
  if (options.async_scheduling && !options.profile.masks_beside_forward) {
    work.note("engine.async_scheduling",
              fmt::format("true does not take structured outputs in {}", options.profile.name),
              "--no-async-scheduling, or --engine-version vllm@0.13");
    return;
  }
  ServingSection& serving = work.section().serving;
  if (!serving.grammar_compile_time || !serving.grammar_mask_time) {
    work.out->warnings.push_back(
        {.code = "W-grammar-times",
         .message = fmt::format("what grammars take is from memory, no server was measured: "
                                "{:.0f} ms to compile one, {:.0f} us for a mask unless stated",
                                kDefaults.compile.to_milliseconds(),
                                kDefaults.mask.to_microseconds()),
         .hint = "--grammar-compile-time, --grammar-mask-time"});
  }
  serving.grammar_compile_time = serving.grammar_compile_time.value_or(kDefaults.compile);
  serving.grammar_mask_time = serving.grammar_mask_time.value_or(kDefaults.mask);
  options.grammars = engine::GrammarTimes{.compile = *serving.grammar_compile_time,
                                          .mask = *serving.grammar_mask_time};
}

}  // namespace ridgeline::scenario
