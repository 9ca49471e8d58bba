// llm-d's 73 % campaign: eight pairs of H100s, prefixes that need three quarters of the fleet's
// cache.
#include "core/result.hpp"
#include "studies/campaign.hpp"
#include "studies/lab.hpp"
#include "studies/llmd.hpp"
#include "studies/registry.hpp"
#include "studies/study.hpp"

namespace ridgeline::studies {
namespace {

core::Result<Outcome> run_llmd_73(const Lab& lab) {
  return judge_campaign(published_campaign("llmd-73"), lab);
}

}  // namespace

Study study_llmd_73() {
  return {.id = "llmd-73",
          .title = "Four ways to route shared prefixes, 73 % of the cache",
          .claim =
              "Routing by what instances hold beats routing by what was sent, and both beat load "
              "and chance: Qwen3-32B, eight instances, 3 to 60 requests per second.",
          .arms = {{.name = "kernel", .preset = "kernel"}},
          .held_fixed =
              "150 groups of 5 prompts, 6,000 + 1,200 tokens, 1,000 out; 307,328 tokens of KV "
              "cache each; stages, and the arrival rates that were achieved",
          .refuted_if =
              "the order by throughput is wrong at some rate and fewer than four in five "
              "throughputs are within 15 % (partly: one of the two)",
          .controls = "random routing, which knows nothing",
          .reference = Reference::kMeasured,
          .published = Verdict::kNone,
          .scope = "llm-d/llm-d-kv-cache, benchmarking/73-capacity, commit 7be76e1: single runs",
          .not_tested = "the engine's exact version, its host and its network, which are not told",
          .needs_tables = false,
          .run = run_llmd_73};
}

}  // namespace ridgeline::studies
