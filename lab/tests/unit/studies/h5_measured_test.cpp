#include "lab/studies/h5_measured.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

// The figures on measured servers: tests/e2e/test_study.py.
TEST(H5Measured, HasTheFormsAndTheControlsThatTheTextLeftUndone) {
  std::vector<std::string> names;
  for (const Arm& arm : h5::measured_arms()) {
    names.push_back(arm.name);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"v2-final, default",
                                      "v2-final, smooth-wa",
                                      "v2-final, additive",
                                      "v2-final, max",
                                      "constant 0.4/0.4, default",
                                      "constant 0.4/0.4, additive",
                                      "constant 0.5/0.3, default",
                                      "constant 0.5/0.3, additive",
                                      "constant 0.6/0.2, default",
                                      "constant 0.6/0.2, additive",
                                      "constant 0.7/0.15, default",
                                      "constant 0.7/0.15, additive",
                                      "weights once, default",
                                      "weights once, additive"}));
}

TEST(H5Measured, WithoutServersItIsSkippedAndUndecided) {
  const Study study = study_h5();
  const StudyOptions options;
  Outcome out;
  ASSERT_TRUE(h5::judge_on_servers(Lab(study, options), out));
  ASSERT_EQ(out.skipped.size(), 1U);
  EXPECT_EQ(out.skipped[0].needs, "--measured FILE");
  EXPECT_EQ(out.by_rule, Verdict::kUndecided);
  EXPECT_TRUE(out.tables.empty());
}

}  // namespace
}  // namespace ridgeline::studies
