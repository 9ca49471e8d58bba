#include "latency/measured/shared_tables.hpp"

#include <memory>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "unit/latency/measured/table_files.hpp"

namespace ridgeline::latency::measured {
namespace {

TEST(SharedTables, AreOneWhileSomethingHoldsThem) {
  const TableFolder folder;
  folder.write_sound();
  const auto first = share_bench_data(folder.path(), "g");
  ASSERT_TRUE(first) << core::to_string(first.error().front());
  const auto second = share_bench_data(folder.path(), "g");
  ASSERT_TRUE(second);
  EXPECT_EQ(*first, *second);
}

TEST(SharedTables, AreReadAnewWhereAFileChanged) {
  const TableFolder folder;
  folder.write_sound();
  const auto before = share_bench_data(folder.path(), "g").value();
  folder.write("gemm/g/data.csv", "m,k,n,latency_us,mfu\n1,1,1,1,0.5\n");
  const auto after = share_bench_data(folder.path(), "g").value();
  EXPECT_NE(before, after);
  EXPECT_EQ(after->tables.gemm.rows().size(), 1U);
  EXPECT_GT(before->tables.gemm.rows().size(), 1U);
}

TEST(SharedTables, AFolderThatIsNotThereIsAnErrorEachTime) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(share_bench_data("/no/such/folder", "g"));
  }
}

}  // namespace
}  // namespace ridgeline::latency::measured
