#include <filesystem>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/studies/h5_measured.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"
#include "support/paths.hpp"

namespace ridgeline::studies {
namespace {

TEST(H5OneClient, TheFormsGiveOneDigest) {
  const auto data = test::shared_dir() / "kernels" / "blis_h100";
  if (!std::filesystem::exists(data)) {
    GTEST_SKIP() << "the measured kernel tables are not beside the checkout";
  }
  const Study study = study_h5();
  const StudyOptions options{.bench_data = data.string()};
  Outcome out;
  out.tables = {{"mixed_steps", {}}, {"prefill", {}}, {"branch_edge", {}}, {"statements", {}}};
  ASSERT_TRUE(h5::judge_one_client(Lab(study, options), out));
  EXPECT_TRUE(out.tables[3].rows.at(0).find("holds")->as_bool());
  const auto& rows = out.tables.back().rows;
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].find("digest")->as_string().size(), 32U);
  EXPECT_EQ(rows[0].find("digest")->as_string(), rows[2].find("digest")->as_string());
}

}  // namespace
}  // namespace ridgeline::studies
