#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "latency/measured/kernel_tables.hpp"
#include "unit/latency/measured/table_files.hpp"

namespace ridgeline::latency::measured {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(BenchData, ReadsEveryTableOfAGpu) {
  const TableFolder folder;
  folder.write_sound();
  folder.write("mha/prefill/g/README.md", "not a table");
  const auto tables = load_bench_data(folder.path(), "g");
  ASSERT_TRUE(tables.has_value()) << all_errors(tables.error());
  EXPECT_EQ(tables->gemm.rows().size(), 5U);
  ASSERT_EQ(tables->gemm.columns().size(), 2U);
  EXPECT_EQ(tables->gemm.columns()[1].k, 300);
  // By file name, not by number: '1' comes before '8'.
  ASSERT_EQ(tables->prefill.size(), 2U);
  EXPECT_EQ(to_string(tables->prefill[0].shape()), "16-2-64");
  ASSERT_EQ(tables->decode.size(), 3U);
  EXPECT_EQ(tables->decode[0].key().tensor_parallel_size, 2);
  const DecodeTable& ragged = tables->decode[1];
  EXPECT_THAT(ragged.batch_sizes(), ElementsAre(1, 10, 20));
  EXPECT_THAT(ragged.kv_lens(), ElementsAre(1000, 3000));
  EXPECT_EQ(ragged.cell(1, 1), 3U);
  EXPECT_EQ(ragged.cell(2, 1), DecodeTable::kNoRow);
}

TEST(BenchData, WhatIsMissingIsNamedByItsPath) {
  const TableFolder folder;
  const auto errors_of = [&](const std::string& place, const std::string& gpu) {
    const auto tables = load_bench_data(folder.path(place), gpu);
    return tables ? std::string("no error") : all_errors(tables.error());
  };
  EXPECT_THAT(errors_of("nowhere", "g"), HasSubstr("nowhere: no such folder"));
  folder.write("file", "text");
  EXPECT_THAT(errors_of("file", "g"), HasSubstr("file: is not a folder"));
  folder.write_sound();
  const std::string other = errors_of("", "h");
  EXPECT_THAT(other, HasSubstr("gemm/h: no such folder (there are tables of g)"));
  EXPECT_THAT(other, HasSubstr("mha/prefill/h: no such folder"));
  EXPECT_THAT(other, HasSubstr("mha/decode/h: no such folder"));
  folder.write("gemm/gpu100/data.csv", "");
  EXPECT_THAT(errors_of("", "gpu10"),
              HasSubstr("gemm/gpu10: no such folder (did you mean 'gpu100'?)"));
  folder.write("gemm/x/other.csv", "");
  folder.write("mha/prefill/x/notes.txt", "");
  folder.write("mha/decode/x/1-1-1-tp1.csv", "");
  const std::string partial = errors_of("", "x");
  EXPECT_THAT(partial, HasSubstr("gemm/x/data.csv: no such file"));
  EXPECT_THAT(partial, HasSubstr("mha/prefill/x: has no .csv file"));
  EXPECT_THAT(partial, HasSubstr("1-1-1-tp1.csv: is empty"));
}

TEST(BenchData, AllProblemsOfAFolderAreReportedTogether) {
  const TableFolder folder;
  folder.write_sound();
  folder.write("gemm/g/data.csv", "m,k,n,latency_us,mfu\n8,1,1,nan,1\n");
  folder.write("mha/decode/g/8-8.csv", "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu\n");
  const auto tables = load_bench_data(folder.path(), "g");
  ASSERT_FALSE(tables.has_value());
  const std::string errors = all_errors(tables.error());
  EXPECT_THAT(errors, HasSubstr("gemm/g/data.csv:2:1: latency_us: found \"nan\""));
  EXPECT_THAT(errors, HasSubstr("8-8.csv: the name is not"));
}

}  // namespace
}  // namespace ridgeline::latency::measured
