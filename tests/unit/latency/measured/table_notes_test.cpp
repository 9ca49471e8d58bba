#include "latency/measured/table_notes.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/make_tables.hpp"
#include "unit/latency/kernel_fixtures.hpp"
#include "unit/latency/measured/table_files.hpp"

namespace ridgeline::latency::measured {
namespace {

using testing::HasSubstr;

TEST(TableNotes, MeasuredTablesHaveNone) {
  const TableFolder folder;
  folder.write_sound();
  EXPECT_TRUE(load_bench_data(folder.path(), "g")->made.empty());
}

TEST(TableNotes, MadeTablesAreSaidToBeMade) {
  const auto gpu = latency::fixtures::gpu("h100");
  const MakeRequest request{.heads = {{32, 8, 128}}, .tensor_parallel_sizes = {1, 2}};
  const TableFolder folder;
  const auto made = make_tables(gpu, request).value();
  for (const MadeFile& file : made) {
    EXPECT_TRUE(is_made_table(file.text)) << file.name;
    folder.write(file.name, file.text);
  }
  const KernelTables read = load_bench_data(folder.path(), "h100").value();
  EXPECT_EQ(read.made.size(), 4U);
  const auto notes = notes_of(read);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes.front().code, "W-made-tables");
  EXPECT_THAT(notes.front().message, HasSubstr("4 of 4 kernel tables"));
  EXPECT_EQ(notes_of(made_kernel_tables(gpu, request).value()).size(), 1U);
}

TEST(TableNotes, OnlyTheMadeOnesCount) {
  const TableFolder folder;
  folder.write_sound();
  folder.write("mha/prefill/g/8-8-64.csv",
               "dtype,seq_len,latency_us,mfu,source,expected_error_pct\nbf16,64,10,0.5,kernel,3\n");
  const KernelTables read = load_bench_data(folder.path(), "g").value();
  ASSERT_EQ(read.made.size(), 1U);
  EXPECT_THAT(read.made.front(), HasSubstr("8-8-64.csv"));
}

TEST(TableNotes, CountTheRowsThatWereLoaded) {
  const TableFolder folder;
  folder.write_sound();
  auto gpu = latency::fixtures::gpu("h100");
  gpu.name = "g";
  // By hand from write_sound(): 5 of GEMM, 2 + 2 of prefill, 5 + 1 + 1 of decode in 3 files.
  EXPECT_THAT(loaded_text(folder.path(), gpu),
              HasSubstr("loaded 16 rows of 6 kernel tables from "));
  EXPECT_THAT(loaded_text(folder.path(), gpu),
              HasSubstr("(5 gemm, 4 prefill attention, 7 decode attention)\n"));
  EXPECT_EQ(loaded_text(folder.path("nowhere"), gpu), "");
}

TEST(TableNotes, SayWhereTablesComeFrom) {
  const std::string text = where_tables_come_from();
  for (const char* part :
       {"inference-sim/inference-sim", "487017bc", "Apache-2.0", "kernels make"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

}  // namespace
}  // namespace ridgeline::latency::measured
