// H4: attention against its own KV bytes, layer by layer.
#include "core/result.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/on_servers.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

core::Result<Outcome> run_h4(const Lab& lab) {
  return judge_changes(lab,
                       {{.name = "gains_as_run", .arms = {.baseline = 0, .treatment = 1}},
                        {.name = "gains_v2_final", .arms = {.baseline = 2, .treatment = 3}}},
                       {.published = "H4 found 0.3 points, below the one that it asked for."});
}

}  // namespace

Study study_h4() {
  return {.id = "h4",
          .title = "A roofline per component",
          .claim =
              "Each layer's attention is the slower of its FLOPs and its KV bytes, apart from the "
              "weights.",
          .arms = {{.name = "whole step", .preset = "v2-tpsplit"},
                   {.name = "per component", .preset = "v2-tpsplit-percomponent"},
                   {.name = "v2-final, whole step", .preset = "v2-final"},
                   {.name = "v2-final, per component",
                    .preset = "v2-final",
                    .settings = {flag("per_component", true)}}},
          .held_fixed = "everything but the roofline",
          .refuted_if =
              "no group of ten and more measured runs gains a point in the mean error of the time "
              "per output token (our threshold)",
          .controls = "the same roofline under v2-final",
          .reference = Reference::kMeasured,
          .published = Verdict::kRefuted,
          .scope =
              "mean times per output token of servers that the formulas can price: dense networks "
              "in 16 bits on H100s",
          .not_tested =
              "long contexts, where KV bytes outweigh the weights: the measured runs have few",
          .run = run_h4};
}

}  // namespace ridgeline::studies
