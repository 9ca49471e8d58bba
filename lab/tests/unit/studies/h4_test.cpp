#include <cstddef>
#include <filesystem>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"
#include "support/paths.hpp"

namespace ridgeline::studies {
namespace {

// Its arms are pairs that differ in one setting, as run and under the last V2.
TEST(StudyH4, ChangesOneThingAtATime) {
  const auto data = test::shared_dir() / "kernels" / "blis_h100";
  if (!std::filesystem::exists(data)) {
    GTEST_SKIP() << "the measured kernel tables are not beside the checkout";
  }
  const Study study = study_h4();
  ASSERT_EQ(study.arms.size(), 4U);
  const StudyOptions options{.bench_data = data.string()};
  const Lab lab(study, options);
  for (const std::size_t first : {0U, 2U}) {
    const auto before = (*lab.subject(study.arms[first].name))->model().settings();
    const auto after = (*lab.subject(study.arms[first + 1].name))->model().settings();
    ASSERT_EQ(before.size(), after.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (before[i].key == "per_component") {
        EXPECT_EQ(before[i].value.describe(), "false");
        EXPECT_EQ(after[i].value.describe(), "true");
      } else {
        EXPECT_EQ(before[i].value.describe(), after[i].value.describe()) << before[i].key;
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline::studies
