#include "latency/measured/kernel_tables.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "latency/measured/csv_columns.hpp"
#include "unit/latency/measured/table_files.hpp"

namespace ridgeline::latency::measured {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kGemmHeader = "m,k,n,latency_us,mfu\n";

std::string gemm_errors(const std::string& text) {
  return all_errors(read_gemm_table(text, "t.csv").errors);
}

TEST(KernelTables, RowsMayStandInAnyOrderAndColumnsToo) {
  const auto reading = read_gemm_table(
      "mfu,latency_us,n,k,m,source\r\n0.5,9,200,100,32,mine\r\n\r\n0.25,7.5,200,100,8,mine",
      "t.csv");
  ASSERT_TRUE(reading.errors.empty()) << all_errors(reading.errors);
  const GemmTable& table = reading.tables.front();
  EXPECT_EQ(table.rows()[0].m, 32);
  EXPECT_DOUBLE_EQ(table.rows()[1].latency_us, 7.5);
  EXPECT_EQ(table.rows()[1].line, 4);
  EXPECT_THAT(table.columns()[0].by_m, ElementsAre(1, 0));
}

TEST(KernelTables, SplitsAFileByItsNumberFormats) {
  const auto reading = read_decode_table(
      "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu\n"
      "bf16,fp8,1,64,5,0.5\nbf16,bf16,1,64,6,0.25\n",
      "t.csv",
      {8, 8, 64},
      1);
  ASSERT_TRUE(reading.errors.empty()) << all_errors(reading.errors);
  ASSERT_EQ(reading.tables.size(), 2U);
  EXPECT_EQ(reading.tables[0].key().kv_dtype, "bf16");
  EXPECT_DOUBLE_EQ(reading.tables[1].rows()[0].latency_us, 5.0);
}

TEST(KernelTables, RefusesWhatIsNotATable) {
  EXPECT_THAT(gemm_errors(""), HasSubstr("t.csv: is empty, expected the header m,k,n,latency_us"));
  EXPECT_THAT(gemm_errors("\n \n"), HasSubstr("is empty"));
  EXPECT_THAT(gemm_errors(kGemmHeader), HasSubstr("has a header and no rows"));
  EXPECT_THAT(gemm_errors("8,100,200,10,0.1\n"),
              HasSubstr("t.csv:1:1: the header is missing: found \"8,100,200,10,0.1\""));
  EXPECT_THAT(gemm_errors("m,k,n,latency,mfu\n8,1,1,1,1\n"),
              HasSubstr("t.csv:1:1: latency_us: the column is missing, expected "
                        "m,k,n,latency_us,mfu; found \"latency\""));
  EXPECT_THAT(gemm_errors("m,k,n,m,latency_us,mfu\n8,1,1,8,1,1\n"),
              HasSubstr("m: stands twice in the header"));
}

TEST(KernelTables, RefusesRowsThatCannotBe) {
  const auto row = [](const std::string& cells) { return gemm_errors(kGemmHeader + cells + "\n"); };
  EXPECT_THAT(row("8,100,200,10"), HasSubstr("t.csv:2:1: found 4 cells, expected 5"));
  EXPECT_THAT(row("eight,100,200,10,0.1"),
              HasSubstr("t.csv:2:1: m: found \"eight\", expected a whole number from 1"));
  EXPECT_THAT(row("8,100,200,10 us,0.1"), HasSubstr("latency_us: found \"10 us\""));
  EXPECT_THAT(row("8,100,200,-10,0.1"), HasSubstr("latency_us: found \"-10\""));
  EXPECT_THAT(row("8,100,200,0,0.1"),
              HasSubstr("latency_us: found \"0\", expected microseconds above 0, up to 10000000"));
  // Ten seconds a call at most: no clamp in silence, and none of what follows from 1e300.
  EXPECT_THAT(row("8,100,200,1e300,0.1"), HasSubstr("t.csv:2:1: latency_us: found \"1e300\""));
  EXPECT_THAT(row("8,100,200,10000001,0.1"), HasSubstr("latency_us: found \"10000001\""));
  EXPECT_EQ(row("8,100,200,10000000,0.1"), "");
  EXPECT_THAT(row("8,100,200,10,10.5"),
              HasSubstr("mfu: found \"10.5\", expected a number from 0 to 10"));
  EXPECT_THAT(row("8,100,200,inf,0.1"), HasSubstr("latency_us: found \"inf\""));
  EXPECT_THAT(row("8,100,200,10,nan"), HasSubstr("mfu: found \"nan\", expected a number from 0"));
  EXPECT_THAT(row("8,100,200,10,-0.1"), HasSubstr("mfu: found \"-0.1\""));
  EXPECT_THAT(row("8,100,200,10,"), HasSubstr("mfu: found \"\""));
  EXPECT_THAT(row("0,100,200,10,0.1"), HasSubstr("m: found \"0\""));
  EXPECT_THAT(row("8.5,100,200,10,0.1"), HasSubstr("m: found \"8.5\""));
  EXPECT_THAT(row("1e300,100,200,10,0.1"), HasSubstr("m: found \"1e300\""));
  EXPECT_THAT(row("8,100,200,10,0.1\n16,100,200,1,1\n8,100,200,11,0.1"),
              HasSubstr("t.csv:4:1: repeats the shape of line 2"));
}

TEST(KernelTables, TheSoundRowsOfABadTableAreStillThere) {
  const auto reading = read_gemm_table(std::string(kGemmHeader) + "8,1,1,x,1\n9,1,1,1,1\n", "t");
  EXPECT_EQ(reading.errors.size(), 1U);
  ASSERT_EQ(reading.tables.size(), 1U);
  EXPECT_EQ(reading.tables[0].rows().size(), 1U);
}

TEST(KernelTables, NotesOnlyTheFirstProblems) {
  std::string text = kGemmHeader;
  for (std::size_t i = 0; i < kMaxTableProblems + 30; ++i) {
    text += "bad\n";
  }
  EXPECT_EQ(read_gemm_table(text, "t").errors.size(), kMaxTableProblems);
}

TEST(KernelTables, FileNamesNameTheHeads) {
  const auto plain = parse_attention_file_name("a/b/28-4-128.csv");
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->shape, (HeadShape{28, 4, 128}));
  EXPECT_EQ(plain->tensor_parallel_size, 1);
  EXPECT_EQ(parse_attention_file_name("28-4-128-tp16.csv")->tensor_parallel_size, 16);
  for (const char* name : {"28-4.csv",
                           "28-4-128-tp.csv",
                           "28-4-128-tp0.csv",
                           "28-4-128-x.csv",
                           "28-4-128tp2.csv.csv",
                           "a-4-128.csv",
                           "28-4-128-tp2-.csv",
                           ".csv",
                           "28-4-128-tp2",
                           "99999999999999999999-4-128.csv"}) {
    const auto bad = parse_attention_file_name(name);
    ASSERT_FALSE(bad.has_value()) << name;
    EXPECT_THAT(all_errors(bad.error()), HasSubstr(std::string(name) + ": the name is not"));
  }
}

}  // namespace
}  // namespace ridgeline::latency::measured
