// Several modules of multi-token prediction: where chunks of a prompt end.
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "engine/options.hpp"
#include "engine/probe.hpp"
#include "support/probe_run.hpp"

namespace ridgeline {
namespace {

test::ProbeRun probe_of(const engine::EngineOptions& options) {
  return test::ProbeRun(engine::make_reference_probe(options));
}

engine::EngineOptions drafting() {
  auto options = test::tiny_options("0.28");
  options.num_speculative_tokens = 3;
  return options;
}

// Three modules read 3 tokens ahead: no chunk ends 1 or 2 tokens before the prompt's end.
TEST(PromptEnd, SeveralDraftModulesKeepChunksOffThePromptsEnd) {
  for (const auto& [prompt, first, second, alone] : {std::tuple(16, "0:16", "0:4(3)", "0:16"),
                                                     std::tuple(17, "0:14", "0:3", "0:16"),
                                                     std::tuple(18, "0:15", "0:3", "0:16"),
                                                     std::tuple(19, "0:16", "0:3", "0:16")}) {
    auto options = drafting();
    auto one_module = probe_of(options);
    one_module.add(test::tiny_request(0, prompt, 8));
    EXPECT_EQ(one_module.step(), alone);
    options.drafts_read_ahead = true;
    auto run = probe_of(options);
    run.add(test::tiny_request(0, prompt, 8));
    EXPECT_EQ(run.step(), first) << prompt;
    EXPECT_EQ(run.step(), second) << prompt;
  }
}

// What is left of the step would end in the last three tokens: the prompt waits, admitted or not.
TEST(PromptEnd, APromptWaitsForAStepThatHoldsItsLastTokens) {
  auto options = drafting();
  options.drafts_read_ahead = true;
  auto run = probe_of(options);
  run.add(test::tiny_request(0, 14, 8));
  run.add(test::tiny_request(1, 3, 8));
  EXPECT_EQ(run.step(), "0:14");
  EXPECT_EQ(run->waiting(), std::vector{core::RequestId(1)});
  EXPECT_EQ(run.step(), "0:4(3) 1:3");

  auto running = probe_of(options);
  running.add(test::tiny_request(0, 14, 8));
  running.add(test::tiny_request(1, 16, 8));
  EXPECT_EQ(running.step(), "0:14 1:2");
  running.add(test::tiny_request(2, 14, 8));
  // To 13 of 16, and what is left of the step is the next prompt's.
  EXPECT_EQ(running.step(), "0:4(3) 1:11 2:1");
  EXPECT_EQ(running.step(), "0:4(3) 1:3 2:9");
}

}  // namespace
}  // namespace ridgeline
