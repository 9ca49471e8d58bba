// llm-d's two campaigns: prefixes that need 37 % of a fleet's cache, and 73 %.
#include "core/result.hpp"
#include "lab/records/campaign.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/llmd.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

using records::published_campaign;

/// In what the studies of the two campaigns differ.
struct PublishedCampaign {
  const char* id;
  const char* title;
  const char* claim;
  const char* held_fixed;
  const char* scope;
  core::Result<Outcome> (*run)(const Lab& lab);
};

constexpr PublishedCampaign kOf37Percent = {
    .id = "llmd-37",
    .title = "Four ways to route shared prefixes, 37 % of the cache",
    .claim =
        "Routing by what instances hold beats routing by what was sent, and both beat load "
        "and chance: Llama-3.1-70B, four instances, 3 to 20 requests per second.",
    .held_fixed =
        "83 groups of 3 prompts, 8,000 + 1,000 tokens, 1,000 out; 461,376 tokens of KV "
        "cache each; stages, and the arrival rates that were achieved; the time between tokens at "
        "the lowest rate",
    .scope = "llm-d/llm-d-kv-cache, benchmarking/37-capacity, commit 7be76e1: single runs",
    .run = [](const Lab& lab) { return judge_campaign(published_campaign("llmd-37"), lab); }};

constexpr PublishedCampaign kOf73Percent = {
    .id = "llmd-73",
    .title = "Four ways to route shared prefixes, 73 % of the cache",
    .claim =
        "Routing by what instances hold beats routing by what was sent, and both beat load "
        "and chance: Qwen3-32B, eight instances, 3 to 60 requests per second.",
    .held_fixed =
        "150 groups of 5 prompts, 6,000 + 1,200 tokens, 1,000 out; 307,328 tokens of KV "
        "cache each; stages, and the arrival rates that were achieved; the time between tokens at "
        "the lowest rate",
    .scope = "llm-d/llm-d-kv-cache, benchmarking/73-capacity, commit 7be76e1: single runs",
    .run = [](const Lab& lab) { return judge_campaign(published_campaign("llmd-73"), lab); }};

Study study_of(const PublishedCampaign& campaign) {
  return {
      .id = campaign.id,
      .title = campaign.title,
      .claim = campaign.claim,
      .arms = {{.name = "kernel", .preset = "kernel"}},
      .held_fixed = campaign.held_fixed,
      .refuted_if =
          "the order by throughput is wrong at some rate and fewer than four in five "
          "throughputs are within 15 % (partly: one of the two)",
      .controls = "random routing, which knows nothing",
      .reference = Reference::kMeasured,
      .published = Verdict::kNone,
      .scope = campaign.scope,
      .not_tested = "the engine's exact version, its host and its network, which are not published",
      .needs_tables = false,
      .run = campaign.run};
}

}  // namespace

Study study_llmd_37() {
  return study_of(kOf37Percent);
}
Study study_llmd_73() {
  return study_of(kOf73Percent);
}

}  // namespace ridgeline::studies
