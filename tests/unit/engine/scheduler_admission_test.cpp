// Rules that differ between engine versions or need what a workload file cannot say, each on a case
// done by hand: blocks of 4 tokens, 16 tokens a step.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "engine/options.hpp"
#include "engine/probe.hpp"
#include "engine/probe_extras.hpp"
#include "support/probe_run.hpp"

namespace ridgeline {
namespace {

using core::RequestId;
using test::ProbeRun;
using test::tiny_options;
using test::tiny_request;
using testing::ElementsAre;
using testing::IsEmpty;

ProbeRun reference(const engine::EngineOptions& options) {
  return ProbeRun(engine::make_reference_probe(options));
}

// ---- speculative decoding ----

engine::EngineOptions drafting(const std::string& version, engine::DraftMethod method) {
  auto options = tiny_options(version);
  options.num_speculative_tokens = 3;
  options.draft_method = method;
  return options;
}

TEST(Speculation, AcceptanceChangesTheNeedForBlocks) {
  auto run = reference(drafting("0.15", engine::DraftMethod::kNgram));
  run.add(tiny_request(0, 7, 20));
  // 7 tokens: 2 of 64 blocks. Then 1 + 3 drafts: 11 tokens, 3 blocks. All accepted: token 12 is
  // next, with its drafts up to 15: 4 blocks. None accepted: token 13 is next, up to 16: no new
  // block, for those of the rejected drafts are still held.
  EXPECT_EQ(run.step(), "0:7");
  EXPECT_EQ(run->num_free_blocks(), 62);
  EXPECT_EQ(run.step(3), "0:4(3)");
  EXPECT_EQ(run->num_free_blocks(), 61);
  EXPECT_EQ(run.step(0), "0:4(3)");
  EXPECT_EQ(run->num_free_blocks(), 60);
  EXPECT_EQ(run.step(3), "0:4(3)");
  EXPECT_EQ(run->num_free_blocks(), 60);
  // 1 + 4 + 1 + 4 tokens are out.
  EXPECT_EQ(run->output_tokens(RequestId(0)), 10);
}

TEST(Speculation, SlotsAheadAreTakenFromTheFirstChunkOrAfterIt) {
  for (const auto& [version, free_blocks] :
       {std::pair("0.8", 61), std::pair("0.15", 62), std::pair("0.28", 61)}) {
    auto run = reference(drafting(version, engine::DraftMethod::kEagle));
    run.add(tiny_request(0, 7, 20));
    run.step();
    // 7 tokens take 2 blocks, 7 and 3 ahead take 3.
    EXPECT_EQ(run->num_free_blocks(), free_blocks) << version;
    run.step();
    // From the second step on 7 + 4 and 3 ahead: 14 slots, 4 blocks.
    EXPECT_EQ(run->num_free_blocks(), 60) << version;
  }
}

TEST(Speculation, DraftsBehindTheLimitAreCut) {
  auto options = drafting("0.15", engine::DraftMethod::kNgram);
  options.max_model_len = core::Tokens(12);
  auto run = reference(options);
  run.add(tiny_request(0, 7, 20));
  run.step();
  // Tokens 7 .. 10 may be computed: the 12th, at place 11, ends the request and needs no KV.
  EXPECT_EQ(run.step(0), "0:4(3)");
  EXPECT_EQ(run.step(0), "0:3(2)");
  EXPECT_EQ(run.step(0), "0:2(1)");
}

TEST(Speculation, AnAsynchronousStepCountsOnEveryDraft) {
  auto options = drafting("0.15", engine::DraftMethod::kNgram);
  options.async_scheduling = true;
  auto run = reference(options);
  run.add(tiny_request(0, 8, 20));
  EXPECT_EQ(run.schedule(), "0:8");
  EXPECT_EQ(run.schedule(), "0:4(3)");  // Token 8 and drafts 9 to 11, none of them known yet.
  EXPECT_EQ(run->num_free_blocks(), 64 - 3);
  run.end();
  EXPECT_EQ(run.schedule(), "0:4(3)");  // As if all had been accepted: 12 to 15.
  EXPECT_EQ(run->num_free_blocks(), 64 - 4);
  run.end(0);
  // None of the first three were. One token more is known (10) and the step in flight counts whole:
  // it now stands for places 9 to 12, the next for 13 to 16.
  EXPECT_EQ(run.schedule(), "0:4(3)");
  EXPECT_EQ(run->num_free_blocks(), 64 - 5);
}

TEST(Speculation, ASingleTokenIsPaddedIntoADecodeBatch) {
  for (const auto& [version, second] :
       {std::pair("0.20", "0:4(3) 1:1"), std::pair("0.28", "0:4(3) 1:4(3)")}) {
    auto run = reference(drafting(version, engine::DraftMethod::kNgram));
    run.add(tiny_request(0, 7, 20));
    run.step();
    run.add(tiny_request(1, 1, 20));
    EXPECT_EQ(run.step(), second);
  }
}

TEST(Speculation, ASingleTokenWaitsWhereItsPaddingDoesNotFit) {
  auto options = drafting("0.28", engine::DraftMethod::kNgram);
  options.max_num_batched_tokens = core::Tokens(7);
  auto run = reference(options);
  run.add(tiny_request(0, 7, 20));
  run.step();
  run.add(tiny_request(1, 1, 20));
  EXPECT_EQ(run.step(), "0:4(3)");  // 3 of 7 tokens are left, 4 would be needed.
}

TEST(Speculation, DraftsFollowTheRequestsOfTheStepBefore) {
  for (const bool async : {false, true}) {
    auto options = drafting("0.28", engine::DraftMethod::kNgram);
    options.async_scheduling = async;
    options.draft_levels = {{.most_requests = 1, .drafts = 3}, {.most_requests = 8, .drafts = 1}};
    auto run = reference(options);
    run.add(tiny_request(0, 7, 30));
    EXPECT_EQ(run.step(0), "0:7");
    run.add(tiny_request(1, 1, 30));
    // One request was scheduled, so that 3 drafts follow; with levels single tokens are not padded.
    EXPECT_EQ(run.step(0), "0:4(3) 1:1");
    EXPECT_EQ(run.step(0), "0:2(1) 1:2(1)");
    run->abort(RequestId(1));
    // Two were scheduled, so that one draft follows; then three.
    EXPECT_EQ(run.step(0), "0:2(1)");
    EXPECT_EQ(run.step(0), "0:4(3)");
  }
}

TEST(Speculation, ASingleTokenBesideAPrefillIsNotPadded) {
  auto run = reference(drafting("0.28", engine::DraftMethod::kNgram));
  run.add(tiny_request(0, 7, 20));
  run.add(tiny_request(1, 1, 20));
  EXPECT_EQ(run.step(), "0:7 1:1");
}

TEST(Speculation, ADraftModelReadsOneTokenMorePerRequest) {
  for (const auto& [version, first] :
       {std::pair("0.20", "0:6 1:6 2:4"), std::pair("0.28", "0:6 1:6 2:1")}) {
    auto run = reference(drafting(version, engine::DraftMethod::kDraftModel));
    for (std::uint32_t id = 0; id < 3; ++id) {
      run.add(tiny_request(id, 6, 4));
    }
    // 16 positions: 6 + 1, 6 + 1, and of the 2 left one is the draft model's.
    EXPECT_EQ(run.step(), first);
  }
}

TEST(Speculation, TokensAndInputPositionsAreTwoBudgets) {
  auto options = drafting("0.28", engine::DraftMethod::kDraftModel);
  options.max_num_batched_tokens = core::Tokens(10);
  options.max_num_scheduled_tokens = core::Tokens(9);
  auto run = reference(options);
  for (std::uint32_t id = 0; id < 4; ++id) {
    run.add(tiny_request(id, 2, 4));
  }
  // Tokens 9, 7, 5, 3 are left before each, and positions 10, 7, 4, 1: the last one would be the
  // draft model's, so that request 3 waits though tokens are left.
  EXPECT_EQ(run.step(), "0:2 1:2 2:2");
}

TEST(Speculation, ADraftModelReadsOneTokenMoreOfARunningRequestToo) {
  for (const auto& [version, second] :
       {std::pair("0.20", "0:4(3) 1:12"), std::pair("0.28", "0:4(3) 1:10")}) {
    auto run = reference(drafting(version, engine::DraftMethod::kDraftModel));
    run.add(tiny_request(0, 6, 20));
    EXPECT_EQ(run.step(), "0:6");
    run.add(tiny_request(1, 30, 4));
    // 16 positions: 4 + 1, and of the 11 left one is the draft model's.
    EXPECT_EQ(run.step(), second);
  }
}

// ---- recurrent states ----

/// Full attention, and states that prefix caching keeps at the ends of blocks of 4 tokens.
engine::EngineOptions with_states() {
  auto options = tiny_options("0.28");
  options.enable_prefix_caching = true;
  options.cache_groups = {{}, {.sliding_window = core::Tokens(2), .keeps_states = true}};
  return options;
}

TEST(States, ChunksEndWhereAStateIsKept) {
  auto run = reference(with_states());
  run.add(tiny_request(0, 30, 3));
  // Steps of 16 tokens; the last place is at 28, and the rest a chunk of its own. Of 64 blocks full
  // attention takes 4, 7 and 8, states the last one of each chunk, beside the one before it.
  EXPECT_EQ(run.step(), "0:16");
  EXPECT_EQ(run->num_free_blocks(), 64 - 4 - 1);
  EXPECT_EQ(run.step(), "0:12");
  EXPECT_EQ(run->num_free_blocks(), 64 - 7 - 2);
  EXPECT_EQ(run.step(), "0:2");
  EXPECT_EQ(run->num_free_blocks(), 64 - 8 - 2);
  EXPECT_EQ(run.step(), "0:1");
}

TEST(States, ChunksAreWholeBlocksOfWhatIsLeftOfTheBudget) {
  auto run = reference(with_states());
  run.add(tiny_request(0, 6, 9));
  run.add(tiny_request(1, 30, 3));
  EXPECT_EQ(run.step(), "0:4 1:12");
  EXPECT_EQ(run.step(), "0:2 1:12");  // 14 tokens are left, 3 blocks of them.
  EXPECT_EQ(run.step(), "0:1 1:4");
  EXPECT_EQ(run.step(), "0:1 1:2");
}

TEST(States, APromptWaitsWhereLessThanABlockIsLeft) {
  auto options = with_states();
  options.max_num_batched_tokens = core::Tokens(4);
  auto run = reference(options);
  run.add(tiny_request(0, 3, 3));
  run.add(tiny_request(1, 30, 3));
  EXPECT_EQ(run.step(), "0:3");  // One token is left.
  EXPECT_EQ(run.step(), "0:1");
  EXPECT_EQ(run.step(), "0:1");
  EXPECT_EQ(run.step(), "1:4");
}

TEST(States, HitsEndWhereAStateWasKept) {
  auto run = reference(with_states());
  run.add(tiny_request(0, 30, 1, 1));
  for (const char* chunk : {"0:16", "0:12", "0:2"}) {
    EXPECT_EQ(run.step(), chunk);
  }
  // All 28 tokens of its full blocks: there is a state behind them.
  run.add(tiny_request(1, 40, 1, 1));
  EXPECT_EQ(run.step(), "1:12");
  // 16 of the 24 tokens in common: the chunk from there to 28 left no state at 24.
  auto other = tiny_request(2, 34, 1, 1);
  other.prompt = {{1, core::Tokens(24)}, {2, core::Tokens(10)}};
  run.add(other);
  EXPECT_EQ(run.step(), "2:8");  // It leaves one there, for the next that parts there.
  EXPECT_EQ(run.step(), "2:8");
  EXPECT_EQ(run.step(), "2:2");
}

// ---- priority ----

/// `low` runs first and takes the last block; `high` then needs one, and low has to go although it
/// has been scheduled in this step. `middle` stands behind.
struct PriorityCase {
  explicit PriorityCase(const std::string& version) : run(reference(options(version))) {
    auto low = tiny_request(0, 7, 20);
    auto high = tiny_request(1, 8, 3);
    auto middle = tiny_request(2, 8, 20);
    low.priority = 5;
    middle.priority = 1;
    run.add(low);
    EXPECT_EQ(run.step(), "0:7");
    run.add(high);
    run.add(middle);
    // 8 tokens of low in 2 blocks, and 8 + 7 of the others in 4 of the 5 left.
    EXPECT_EQ(run.step(), "0:1 1:8 2:7");
    EXPECT_EQ(run->num_free_blocks(), 1);
  }
  static engine::EngineOptions options(const std::string& version) {
    auto options = tiny_options(version);
    options.policy = engine::SchedulingPolicy::kPriority;
    options.num_gpu_blocks = core::Blocks(1 + 7);
    return options;
  }
  ProbeRun run;
};

TEST(Priority, AVictimLeavesTheStepItWasIn) {
  for (const std::string version : {"0.13", "0.18", "0.28"}) {
    PriorityCase c(version);
    // Low's 9th token takes the last block; high's 9th finds none, and low gives its three back.
    EXPECT_EQ(c.run.step(), "1:1 2:1") << version;
    EXPECT_THAT(c.run.last().preempted, ElementsAre(RequestId(0)));
    EXPECT_EQ(c.run.step(), "1:1 2:1");
    // High has ended. Low has 7 + 2 tokens and nothing computed: 3 blocks, which high left.
    EXPECT_EQ(c.run.step(), "2:1 0:9");
  }
}

TEST(Priority, AVictimStaysInTheStepUpTo011) {
  for (const std::string version : {"0.9", "0.11"}) {
    PriorityCase c(version);
    // The pass does not step back for it, and so misses the request behind high.
    EXPECT_EQ(c.run.step(), "0:1 1:1") << version;
    EXPECT_THAT(c.run->running(), ElementsAre(RequestId(1), RequestId(2)));
    EXPECT_EQ(c.run.step(), "1:1 2:1");
    // The token of that step counts as computed: 8 of its 9 are left.
    EXPECT_EQ(c.run.step(), "2:1 0:8");
    EXPECT_EQ(c.run.last().admitted.front().computed_tokens, 1);
  }
}

TEST(Priority, IsIgnoredBefore09) {
  PriorityCase c("0.8");
  // First come first served: middle, the last, gives its two blocks, and high takes one.
  EXPECT_EQ(c.run.step(), "0:1 1:1");
  EXPECT_THAT(c.run.last().preempted, ElementsAre(RequestId(2)));
}

// ---- watermark ----

TEST(Watermark, KeepsBlocksFreeWhileOthersRun) {
  auto options = tiny_options("0.28");
  options.max_num_batched_tokens = core::Tokens(64);
  options.num_gpu_blocks = core::Blocks(1 + 20);
  options.profile.watermark = 0.25;
  auto run = reference(options);
  run.add(tiny_request(0, 28, 9));
  run.add(tiny_request(1, 24, 9));
  run.add(tiny_request(2, 10, 9));
  // floor(0.25 * 21) = 5 blocks. The first runs alone: 7 of 20. The second: 6 + 5 of 13. The
  // third: 3 + 5 of 7 do not fit.
  EXPECT_EQ(run.step(), "0:28 1:24");
}

TEST(Watermark, DoesNotBindARequestThatRunsAlone) {
  auto options = tiny_options("0.28");
  options.num_gpu_blocks = core::Blocks(1 + 4);
  options.profile.watermark = 0.9;
  auto run = reference(options);
  run.add(tiny_request(0, 16, 1));
  EXPECT_EQ(run.step(), "0:16");
}

// ---- cache groups ----

engine::EngineOptions hybrid(const std::string& version) {
  auto options = tiny_options(version);
  options.enable_prefix_caching = true;
  options.cache_groups = {{}, {.sliding_window = core::Tokens(8)}};
  return options;
}

std::vector<std::vector<std::uint32_t>> tables_of(ProbeRun& run, std::uint32_t id) {
  std::vector<std::vector<std::uint32_t>> tables;
  for (const auto& group : run->blocks(RequestId(id))) {
    tables.emplace_back();
    for (const auto block : group) {
      tables.back().push_back(block.value());
    }
  }
  return tables;
}

TEST(CacheGroups, TheWindowDropsWhatLiesLeftOfIt) {
  auto run = reference(hybrid("0.15"));
  run.add(tiny_request(0, 16, 4));
  run.step();
  EXPECT_THAT(tables_of(run, 0), ElementsAre(ElementsAre(1, 2, 3, 4), ElementsAre(5, 6, 7, 8)));
  // Token 16 sees 9 to 16: tokens 0 to 8, two full blocks of them, are dropped before a fifth block
  // is taken in either group.
  run.schedule();
  EXPECT_THAT(tables_of(run, 0),
              ElementsAre(ElementsAre(1, 2, 3, 4, 9), ElementsAre(0, 0, 7, 8, 10)));
  EXPECT_EQ(run->num_free_blocks(), 64 - 5 - 3);
}

TEST(CacheGroups, AHitIsAPrefixOfEveryGroup) {
  auto run = reference(hybrid("0.15"));
  run.add(tiny_request(0, 17, 1, 1));
  run.step();
  run.step();
  run.add(tiny_request(1, 17, 1, 1));
  // 16 tokens are cached in both groups; of the window's only the two blocks that token 16 sees
  // (ceil(7 / 4)) are taken.
  EXPECT_EQ(run.schedule(), "1:1");
  const auto tables = tables_of(run, 1);
  EXPECT_THAT(std::vector(tables[0].begin(), tables[0].end() - 1), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(std::vector(tables[1].begin(), tables[1].end() - 1), ElementsAre(0, 0, 7, 8));
}

TEST(CacheGroups, DraftsGiveUpABlockPerLayoutOrOneInAll) {
  for (const auto& [version, hit] :
       {std::pair("0.15", 8), std::pair("0.20", 8), std::pair("0.24", 12)}) {
    auto options = hybrid(version);
    options.num_speculative_tokens = 1;
    auto run = reference(options);
    run.add(tiny_request(0, 17, 1, 1));
    run.step();
    run.step();
    run.add(tiny_request(1, 17, 1, 1));
    run.schedule();
    // 16 tokens are cached. Full attention gives up a block, and then the window another one; later
    // both look at the same 16 and give up one.
    EXPECT_EQ(run.last().admitted.front().computed_tokens, hit) << version;
  }
}

TEST(CacheGroups, DraftsInABlockGiveUpNoneNorDoOthersWhereAskedTo) {
  for (const bool in_block : {false, true}) {
    auto options = hybrid("0.24");
    options.num_speculative_tokens = 1;
    options.draft_method = in_block ? engine::DraftMethod::kBlock : engine::DraftMethod::kEagle;
    options.disable_eagle_block_drop = !in_block;
    auto run = reference(options);
    run.add(tiny_request(0, 17, 1, 1));
    run.step();
    run.step();
    run.add(tiny_request(1, 17, 1, 1));
    run.schedule();
    EXPECT_EQ(run.last().admitted.front().computed_tokens, 16) << in_block;
  }
}

TEST(CacheGroups, AdmissionAsksForNoMoreThanAWindowEverHolds) {
  for (const auto& [version, first] : {std::pair("0.20", ""), std::pair("0.24", "0:4")}) {
    auto options = tiny_options(version);
    options.cache_groups = {{.sliding_window = core::Tokens(4)}};
    options.max_num_batched_tokens = core::Tokens(4);
    options.num_gpu_blocks = core::Blocks(1 + 4);
    auto run = reference(options);
    run.add(tiny_request(0, 40, 1));
    // 40 tokens are 10 blocks; a window of 4 and a step of 4 touch at most ceil(7 / 4) + 1 = 3.
    EXPECT_EQ(run.step(), first) << version;
  }
}

// ---- aborts ----

TEST(Abort, GivesBlocksBackWhereverTheRequestIs) {
  auto options = tiny_options("0.20");
  options.num_gpu_blocks = core::Blocks(1 + 8);
  options.max_num_seqs = 2;
  auto run = reference(options);
  run.add(tiny_request(0, 12, 9));
  run.add(tiny_request(1, 12, 9));
  run.add(tiny_request(2, 4, 9));
  EXPECT_EQ(run.step(), "0:12 1:4");
  EXPECT_EQ(run->num_free_blocks(), 8 - 3 - 1);
  run->abort(RequestId(1));  // In the middle of its prompt.
  EXPECT_EQ(run->num_free_blocks(), 8 - 3);
  EXPECT_EQ(run.step(), "0:1 2:4");
  run->abort(RequestId(0));  // While it decodes.
  EXPECT_EQ(run->num_free_blocks(), 8 - 1);
  run.add(tiny_request(3, 4, 9));
  run->abort(RequestId(3));  // Before it was ever scheduled.
  EXPECT_EQ(run.step(), "2:1");
  run->abort(RequestId(2));
  run->abort(RequestId(2));  // A second time changes nothing.
  EXPECT_EQ(run->num_free_blocks(), 8);
  EXPECT_THAT(run->running(), IsEmpty());
  EXPECT_THAT(run->waiting(), IsEmpty());
}

TEST(Abort, OfAPreemptedRequestEmptiesTheQueue) {
  auto options = tiny_options("0.15");
  options.num_gpu_blocks = core::Blocks(1 + 4);
  auto run = reference(options);
  run.add(tiny_request(0, 8, 9));
  run.add(tiny_request(1, 8, 9));
  run.step();
  EXPECT_EQ(run.step(), "0:1");
  EXPECT_THAT(run->waiting(), ElementsAre(RequestId(1)));
  run->abort(RequestId(1));
  EXPECT_THAT(run->waiting(), IsEmpty());
}

TEST(Abort, WhatIsInFlightIsThrownAway) {
  auto options = tiny_options("0.15");
  options.async_scheduling = true;
  auto run = reference(options);
  run.add(tiny_request(0, 4, 9));
  EXPECT_EQ(run.schedule(), "0:4");
  EXPECT_EQ(run.schedule(), "0:1");
  run->abort(RequestId(0));
  EXPECT_EQ(run->num_free_blocks(), 64);
  EXPECT_THAT(run.end(), IsEmpty());
  EXPECT_THAT(run.end(), IsEmpty());
  EXPECT_EQ(run->output_tokens(RequestId(0)), 0);
  EXPECT_EQ(run.schedule(), "");
}

// ---- KV from another engine ----

struct RemoteCase {
  RemoteCase(const std::string& version, std::int64_t tokens) : run(reference(options(version))) {
    extras = dynamic_cast<engine::ProbeExtras*>(&*run);
    extras->add_leg(tiny_request(0, 16, 4), {.remote_tokens = core::Tokens(tokens), .loads = true});
    run.add(tiny_request(1, 4, 4));
  }
  static engine::EngineOptions options(const std::string& version) {
    auto options = tiny_options(version);
    options.num_gpu_blocks = core::Blocks(1 + 10);
    return options;
  }
  ProbeRun run;
  engine::ProbeExtras* extras;
};

TEST(RemoteKv, ARequestWaitsForItAndOthersPass) {
  for (const auto& [version, passed_over] : {std::pair("0.15", 0), std::pair("0.18", 1)}) {
    RemoteCase c(version, 12);
    // Three blocks are kept for the 12 tokens; the short one takes a fourth.
    EXPECT_EQ(c.run.step(), "1:4");
    EXPECT_EQ(c.run->num_free_blocks(), 10 - 3 - 1);
    EXPECT_THAT(c.extras->loading(), ElementsAre(RequestId(0)));
    EXPECT_THAT(c.run->waiting(), ElementsAre(RequestId(0)));
    EXPECT_EQ(c.extras->num_passed_over(), passed_over) << version;
    EXPECT_EQ(c.run.step(), "1:1");
    c.extras->finish_load(RequestId(0));
    // The last 4 of its 16 tokens are computed, in a block of their own.
    EXPECT_EQ(c.run.step(), "1:1 0:4");
    EXPECT_EQ(c.run.last().admitted.front().computed_tokens, 12);
    EXPECT_EQ(c.run->num_free_blocks(), 10 - 4 - 2);
  }
}

TEST(RemoteKv, AtLeastOneTokenIsComputed) {
  RemoteCase c("0.28", 16);
  c.run.step();
  c.extras->finish_load(RequestId(0));
  EXPECT_EQ(c.run.step(), "1:1 0:1");
}

TEST(RemoteKv, APartOfABlockCountsAsWholeUpTo015) {
  for (const auto& [version, second] :
       {std::pair("0.15", "1:1 0:1"), std::pair("0.18", "1:1 0:3")}) {
    RemoteCase c(version, 13);
    c.run.step();
    c.extras->finish_load(RequestId(0));
    // 13 tokens lie in 4 blocks, which end at 16.
    EXPECT_EQ(c.run.step(), second) << version;
  }
}

TEST(RemoteKv, AnAbortFreesAtOnceOrWhenTheLoadIsOver) {
  for (const auto& [version, free_blocks] : {std::pair("0.20", 9), std::pair("0.28", 6)}) {
    RemoteCase c(version, 12);
    c.run.step();
    c.run->abort(RequestId(0));
    EXPECT_EQ(c.run->num_free_blocks(), free_blocks) << version;
    EXPECT_THAT(c.run->waiting(), IsEmpty());
    if (!c.extras->loading().empty()) {
      c.extras->finish_load(RequestId(0));
    }
    EXPECT_EQ(c.run->num_free_blocks(), 9);
  }
}

TEST(RemoteKv, ALoadLeavesTheBlocksOfRunningPrefills) {
  for (const auto& [version, free_blocks] : {std::pair("0.20", 3), std::pair("0.28", 7)}) {
    auto options = tiny_options(version);
    options.num_gpu_blocks = core::Blocks(1 + 9);
    options.long_prefill_token_threshold = core::Tokens(4);
    auto run = reference(options);
    run.add(tiny_request(0, 24, 4));
    EXPECT_EQ(run.step(), "0:4");
    dynamic_cast<engine::ProbeExtras&>(*run).add_leg(
        tiny_request(1, 16, 4), {.remote_tokens = core::Tokens(16), .loads = true});
    // The first holds 2 of 9 blocks and will need 4 more for its 24 tokens. The second asks for 4
    // of the 7 that are free: they are there, but not beyond those 4.
    EXPECT_EQ(run.step(), "0:4");
    EXPECT_EQ(run->num_free_blocks(), free_blocks) << version;
  }
}

// ---- adapters ----

TEST(Adapters, ARequestThatNeedsAnotherOneIsPassed) {
  auto options = tiny_options("0.18");
  options.max_loras = 1;
  auto run = reference(options);
  for (std::uint32_t id = 0; id < 3; ++id) {
    auto request = tiny_request(id, 4, id == 0 ? 2 : 4);
    request.lora = id < 2 ? core::LoraId(id) : core::LoraId();
    run.add(request);
  }
  EXPECT_EQ(run.step(), "0:4 2:4");
  EXPECT_EQ(run.step(), "0:1 2:1");
  // Adapter 0 has gone with request 0.
  EXPECT_EQ(run.step(), "2:1 1:4");
}

}  // namespace
}  // namespace ridgeline
