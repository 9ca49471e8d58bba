// H3: Q, K and V looked up as one GEMM.
#include "core/result.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/on_servers.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

core::Result<Outcome> run_h3(const Lab& lab) {
  return judge_changes(lab,
                       {{.name = "gains_as_run", .arms = {.baseline = 0, .treatment = 1}},
                        {.name = "gains_v2_final", .arms = {.baseline = 2, .treatment = 3}}},
                       {.published = "H3 found 0.0 points."});
}

}  // namespace

Study study_h3() {
  return {.id = "h3",
          .title = "Q, K and V in one GEMM",
          .claim =
              "Looking Q, K and V up as the one GEMM that engines run brings predictions nearer to "
              "servers.",
          .arms = {{.name = "apart", .preset = "v2-tpsplit"},
                   {.name = "fused", .preset = "v2-tpsplit-fuseqkv"},
                   {.name = "v2-final sharded, apart",
                    .preset = "v2-final",
                    .settings = {setting("tensor_parallel", "shard")}},
                   {.name = "v2-final sharded, fused",
                    .preset = "v2-final",
                    .settings = {setting("tensor_parallel", "shard"), flag("fuse_qkv", true)}}},
          .held_fixed = "everything but the look-up",
          .refuted_if =
              "no group of ten and more measured runs gains a point in the mean error of the time "
              "per output token (our threshold)",
          .controls = "the same look-up under v2-final, where GEMMs decide",
          .reference = Reference::kMeasured,
          .published = Verdict::kRefuted,
          .scope =
              "mean times per output token of servers that the formulas can price: dense networks "
              "in 16 bits on H100s",
          .not_tested = "one launch instead of three, which no table of single GEMMs shows",
          .run = run_h3};
}

}  // namespace ridgeline::studies
