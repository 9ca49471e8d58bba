// llm-d's 37 % campaign: four times four H100s, prefixes that need a third of the fleet's cache.
#include "core/result.hpp"
#include "studies/campaign.hpp"
#include "studies/lab.hpp"
#include "studies/llmd.hpp"
#include "studies/registry.hpp"
#include "studies/study.hpp"

namespace ridgeline::studies {
namespace {

core::Result<Outcome> run_llmd_37(const Lab& lab) {
  return judge_campaign(published_campaign("llmd-37"), lab);
}

}  // namespace

Study study_llmd_37() {
  return {.id = "llmd-37",
          .title = "Four ways to route shared prefixes, 37 % of the cache",
          .claim =
              "Routing by what instances hold beats routing by what was sent, and both beat load "
              "and chance: Llama-3.1-70B, four instances, 3 to 20 requests per second.",
          .arms = {{.name = "kernel", .preset = "kernel"}},
          .held_fixed =
              "83 groups of 3 prompts, 8,000 + 1,000 tokens, 1,000 out; 461,376 tokens of KV "
              "cache each; stages, and the arrival rates that were achieved",
          .refuted_if =
              "the order by throughput is wrong at some rate and fewer than four in five "
              "throughputs are within 15 % (partly: one of the two)",
          .controls = "random routing, which knows nothing",
          .reference = Reference::kMeasured,
          .published = Verdict::kNone,
          .scope = "llm-d/llm-d-kv-cache, benchmarking/37-capacity, commit 7be76e1: single runs",
          .not_tested = "the engine's exact version, its host and its network, which are not told",
          .needs_tables = false,
          .run = run_llmd_37};
}

}  // namespace ridgeline::studies
