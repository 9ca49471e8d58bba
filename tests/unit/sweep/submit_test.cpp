#include "sweep/submit.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::sweep {
namespace {

using testing::HasSubstr;

std::string script(const std::string& engine) {
  const auto found = find_submit_engine(engine);
  EXPECT_TRUE(found);
  return (*found)->write({.words = {"my sweep.yaml", "--seed", "1"},
                          .store = "out",
                          .digest = "0123456789abcdef",
                          .points = 20,
                          .shards = 8});
}

TEST(Submit, SlurmGetsAnArrayAndAMergeBehindIt) {
  const std::string text = script("slurm");
  EXPECT_THAT(text, HasSubstr("#SBATCH --array=0-7\n"));
  EXPECT_THAT(text, HasSubstr("--shard \"$SLURM_ARRAY_TASK_ID/8\""));
  EXPECT_THAT(text, HasSubstr("sweep run 'my sweep.yaml' --seed 1 --store"));
  EXPECT_THAT(text, HasSubstr("--dependency=\"afterany:$array\""));
}

TEST(Submit, ParallelGetsOneTaskPerShard) {
  const std::string text = script("parallel");
  EXPECT_THAT(text, HasSubstr("seq 0 7 | parallel"));
  EXPECT_THAT(text, HasSubstr("--shard {}/8"));
}

TEST(Submit, KubernetesGetsAnIndexedJob) {
  const std::string text = script("kubernetes");
  EXPECT_THAT(text, HasSubstr("completionMode: Indexed\n  completions: 8\n"));
  EXPECT_THAT(text, HasSubstr("            - \"$(JOB_COMPLETION_INDEX)/8\"\n"));
  EXPECT_THAT(text, HasSubstr("name: ridgeline-sweep-01234567\n"));
}

// What each does with such words is tried in tests/e2e/test_hostile_names.py.
TEST(Submit, NoTextOfOthersEndsALine) {
  for (const SubmitEngine& engine : submit_engines()) {
    const std::string text = engine.write({.words = {"a\nb", "{= x =}", "$(c)"},
                                           .store = "-s\ntouch x",
                                           .digest = "0123456789abcdef",
                                           .points = 20,
                                           .shards = 8});
    for (const char* comment : {"\n# touch x", "\ntouch x.", "\ntouch x/merged.ndjson.\n"}) {
      EXPECT_THAT(text, testing::Not(HasSubstr(comment))) << engine.name;
    }
    EXPECT_THAT(text, HasSubstr("./-s\\ntouch x")) << engine.name;
  }
}

TEST(Submit, OtherSchedulersAreAnsweredWithTheNearest) {
  const auto found = find_submit_engine("slrum");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().front().hint, "did you mean slurm?");
}

}  // namespace
}  // namespace ridgeline::sweep
