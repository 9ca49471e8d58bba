#include "latency/measured/lookup.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/rng.hpp"
#include "document/document.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "support/paths.hpp"
#include "unit/latency/measured/table_files.hpp"

namespace ridgeline::latency::measured {
namespace {

using testing::HasSubstr;

const LookupOptions kFloorLookup{.mode = LookupMode::kFloor};
const LookupOptions kInterpLookup{.mode = LookupMode::kInterpolate};

KernelTables sound_tables() {
  const TableFolder folder;
  folder.write_sound();
  return load_bench_data(folder.path(), "g").value();
}

double gemm_mfu(const KernelTables& tables,
                std::int64_t m,
                std::int64_t k,
                std::int64_t n,
                const LookupOptions& options) {
  return look_up_gemm(tables.gemm, find_gemm_column(tables.gemm, k, n, options.mode), m, options)
      .mfu;
}

TEST(LookupGemm, TakesTheNearestEnclosingColumn) {
  const auto tables = sound_tables();
  const auto enclosed = find_gemm_column(tables.gemm, 90, 200, LookupMode::kInterpolate);
  EXPECT_EQ(enclosed.column, 0U);
  EXPECT_TRUE(enclosed.enclosed);
  EXPECT_EQ(find_gemm_column(tables.gemm, 101, 10, LookupMode::kInterpolate).column, 1U);
  // Nothing has n >= 201: the largest k^2 + n^2, and the column of the last row.
  const auto beyond = find_gemm_column(tables.gemm, 100, 201, LookupMode::kInterpolate);
  EXPECT_EQ(beyond.column, 1U);
  EXPECT_FALSE(beyond.enclosed);
  EXPECT_EQ(find_gemm_column(tables.gemm, 100, 201, LookupMode::kFloor).column, 1U);
}

TEST(LookupGemm, BeyondTheTableFloorTakesTheLastRowsColumnWhateverItsSize) {
  const auto table =
      read_gemm_table("m,k,n,latency_us,mfu\n1,9,9,1,0.1\n2,9,9,1,0.2\n1,5,5,1,0.3\n", "t")
          .tables.front();
  EXPECT_EQ(find_gemm_column(table, 10, 10, LookupMode::kFloor).column, 1U);
  EXPECT_EQ(find_gemm_column(table, 10, 10, LookupMode::kInterpolate).column, 0U);
}

TEST(LookupGemm, InterpolatesInMAndStaysFlatOutside) {
  const auto tables = sound_tables();
  // Between m 16 (0.2) and 32 (0.3), a quarter of the way: 0.225.
  EXPECT_DOUBLE_EQ(gemm_mfu(tables, 20, 100, 200, kInterpLookup), 0.225);
  EXPECT_DOUBLE_EQ(gemm_mfu(tables, 20, 100, 200, kFloorLookup), 0.2);
  for (const auto& options : {kInterpLookup, kFloorLookup}) {
    EXPECT_DOUBLE_EQ(gemm_mfu(tables, 16, 100, 200, options), 0.2);
    EXPECT_DOUBLE_EQ(gemm_mfu(tables, 1, 100, 200, options), 0.1);
    EXPECT_DOUBLE_EQ(gemm_mfu(tables, 1000, 100, 200, options), 0.3);
  }
}

TEST(LookupGemm, TheLogarithmicOneIsHalfWayAtTheGeometricMean) {
  const auto table =
      read_gemm_table("m,k,n,latency_us,mfu\n4,1,1,1,0.1\n16,1,1,1,0.3\n", "t").tables.front();
  const LookupOptions log{.mode = LookupMode::kLog};
  const auto target = find_gemm_column(table, 1, 1, LookupMode::kLog);
  EXPECT_NEAR(look_up_gemm(table, target, 8, log).mfu, 0.2, 1e-15);
  EXPECT_DOUBLE_EQ(look_up_gemm(table, target, 4, log).mfu, 0.1);
  EXPECT_DOUBLE_EQ(look_up_gemm(table, target, 1, log).mfu, 0.1);
  EXPECT_DOUBLE_EQ(look_up_gemm(table, target, 100, log).mfu, 0.3);
}

TEST(LookupGemm, SaysWhichRowItUsedAndHowFarThatIs) {
  const auto tables = sound_tables();
  const auto target = find_gemm_column(tables.gemm, 97, 196, LookupMode::kInterpolate);
  // (m 16, k 100, n 200) from (16, 97, 196): 3-4-5.
  const Lookup exact = look_up_gemm(tables.gemm, target, 16, kInterpLookup);
  EXPECT_EQ(exact.row, 1U);
  EXPECT_DOUBLE_EQ(exact.distance, 5.0);
  EXPECT_FALSE(exact.outside);
  EXPECT_EQ(exact.outcome, LookupOutcome::kFound);
  // 12 beyond the last m: 5-12-13.
  const Lookup beyond = look_up_gemm(tables.gemm, target, 44, kInterpLookup);
  EXPECT_DOUBLE_EQ(beyond.distance, 13.0);
  EXPECT_TRUE(beyond.outside);
  EXPECT_TRUE(look_up_gemm(tables.gemm, target, 7, kFloorLookup).outside);
}

TEST(LookupGemm, FloorTakesTheLastRowOfTheFileNotTheLargest) {
  const auto table =
      read_gemm_table("m,k,n,latency_us,mfu\n16,1,1,1,0.2\n32,1,1,1,0.3\n8,1,1,1,0.1\n", "t")
          .tables.front();
  const auto target = find_gemm_column(table, 1, 1, LookupMode::kFloor);
  EXPECT_DOUBLE_EQ(look_up_gemm(table, target, 100, kFloorLookup).mfu, 0.1);
  EXPECT_DOUBLE_EQ(look_up_gemm(table, target, 4, kFloorLookup).mfu, 0.1);
}

TEST(LookupGemm, ZeroRowsAreReplacedByRule) {
  const auto table = read_gemm_table(
                         "m,k,n,latency_us,mfu\n"
                         "1,5,5,1,0.0\n1,90,90,1,0.6\n1,7,7,1,0.4\n",
                         "t")
                         .tables.front();
  const auto mfu = [&](LookupMode mode, ZeroRule rule) {
    return look_up_gemm(table,
                        find_gemm_column(table, 5, 5, mode),
                        1,
                        {.mode = mode, .zero = rule, .v1_mfu = 0.24});
  };
  const Lookup nearest = mfu(LookupMode::kInterpolate, ZeroRule::kPublished);
  EXPECT_DOUBLE_EQ(nearest.mfu, 0.4);
  EXPECT_EQ(nearest.row, 2U);
  EXPECT_EQ(nearest.outcome, LookupOutcome::kReplaced);
  EXPECT_DOUBLE_EQ(nearest.distance, std::sqrt(8.0));
  EXPECT_DOUBLE_EQ(mfu(LookupMode::kFloor, ZeroRule::kPublished).mfu, 0.6);
  EXPECT_DOUBLE_EQ(mfu(LookupMode::kFloor, ZeroRule::kNearest).mfu, 0.4);
  EXPECT_DOUBLE_EQ(mfu(LookupMode::kInterpolate, ZeroRule::kFirst).mfu, 0.6);
  EXPECT_DOUBLE_EQ(mfu(LookupMode::kInterpolate, ZeroRule::kV1).mfu, 0.24);
}

TEST(LookupGemm, ATableOfZerosGivesTheLeastMfu) {
  const auto table = read_gemm_table("m,k,n,latency_us,mfu\n1,5,5,1,0\n", "t").tables.front();
  const auto target = find_gemm_column(table, 5, 5, LookupMode::kInterpolate);
  const Lookup nothing = look_up_gemm(table, target, 1, kInterpLookup);
  EXPECT_DOUBLE_EQ(nothing.mfu, 1e-4);
  EXPECT_EQ(nothing.outcome, LookupOutcome::kNothing);
}

TEST(LookupPrefill, FloorAndLine) {
  const auto tables = sound_tables();
  const PrefillTable& table = *choose_heads(tables, {8, 8, 64})->prefill;
  EXPECT_DOUBLE_EQ(look_up_prefill(table, 2500, kFloorLookup).mfu, 0.2);
  // Three quarters of the way from 0.2 to 0.4.
  EXPECT_DOUBLE_EQ(look_up_prefill(table, 2500, kInterpLookup).mfu, 0.35);
  EXPECT_EQ(look_up_prefill(table, 2500, kInterpLookup).row, 1U);
  EXPECT_DOUBLE_EQ(look_up_prefill(table, 2500, kInterpLookup).distance, 500.0);
  EXPECT_DOUBLE_EQ(look_up_prefill(table, 10, kFloorLookup).mfu, 0.2);
  EXPECT_DOUBLE_EQ(look_up_prefill(table, 9999, kInterpLookup).mfu, 0.4);
  EXPECT_TRUE(look_up_prefill(table, 9999, kInterpLookup).outside);
}

TEST(LookupDecode, BilinearWithHolesCountedAsZero) {
  const auto tables = sound_tables();
  const DecodeTable& table = *choose_decode(tables, {8, 8, 64}, 1, LookupMode::kInterpolate)->table;
  // (10, 2000): between 0.02 and 0.04.
  EXPECT_DOUBLE_EQ(look_up_decode(table, 10, 2000, kInterpLookup).mfu, 0.03);
  // (4, 2000), a third from batch 1 to 10: at 1000 0 + 0.02/3, at 3000 0.01 + 0.03/3 = 0.02.
  EXPECT_NEAR(look_up_decode(table, 4, 2000, kInterpLookup).mfu, (0.02 / 3 + 0.02) / 2, 1e-15);
  // The cell (20, 3000) is missing: at (15, 2000), 0.035 at 1000 and 0.02 at 3000.
  EXPECT_NEAR(look_up_decode(table, 15, 2000, kInterpLookup).mfu, 0.0275, 1e-15);
  // At the hole itself nothing is left, and the nearest row stands in: 10 away in batch.
  const Lookup hole = look_up_decode(table, 20, 3000, kInterpLookup);
  EXPECT_EQ(hole.outcome, LookupOutcome::kReplaced);
  EXPECT_DOUBLE_EQ(hole.mfu, 0.04);
  EXPECT_DOUBLE_EQ(hole.distance, 10.0);
}

TEST(LookupDecode, FloorPrefersRowsBelowOnBothAxes) {
  const auto tables = sound_tables();
  const DecodeTable& table = *choose_decode(tables, {8, 8, 64}, 1, LookupMode::kFloor)->table;
  // (10, 3000) is 1 token away in context, but above: (10, 1000) is the nearest below.
  EXPECT_DOUBLE_EQ(look_up_decode(table, 11, 2999, kFloorLookup).mfu, 0.02);
  // Nothing is below 1000: the nearest of all, (20, 1000).
  EXPECT_DOUBLE_EQ(look_up_decode(table, 19, 999, kFloorLookup).mfu, 0.05);
  // (1, 1000) is zero: (10, 1000) is nearer than (1, 3000).
  const Lookup zero = look_up_decode(table, 1, 1000, kFloorLookup);
  EXPECT_DOUBLE_EQ(zero.mfu, 0.02);
  EXPECT_EQ(zero.outcome, LookupOutcome::kReplaced);
  EXPECT_DOUBLE_EQ(look_up_decode(table, 1, 1000, {.zero = ZeroRule::kV1, .v1_mfu = 0.2}).mfu, 0.2);
}

// Grids with holes: rows below on both axes before others, of those the nearest, of equals the
// first of the file.
TEST(LookupDecode, FloorIsThatOfTheWholeFile) {
  core::RngStream rng(1, 0, "grids with holes");
  const auto draw = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(most)));
  };
  for (int grid = 0; grid < 50; ++grid) {
    std::vector<DecodeRow> rows;
    for (std::int64_t batch = 3; batch <= 12; batch += 3) {
      for (std::int64_t kv = 10; kv <= 40; kv += 10) {
        if (rows.empty() || draw(4) > 1) {
          rows.push_back({.batch_size = batch, .kv_len = kv, .latency_us = 1.0, .mfu = 0.1});
        }
      }
    }
    const DecodeTable table("grid", {}, rows);
    for (int question = 0; question < 50; ++question) {
      const std::int64_t batch = draw(15);
      const std::int64_t kv = draw(50);
      const auto rank = [&](const DecodeRow& row) {
        const bool below = row.batch_size <= batch && row.kv_len <= kv;
        return std::pair(!below,
                         std::hypot(static_cast<double>(row.batch_size - batch),
                                    static_cast<double>(row.kv_len - kv)));
      };
      const auto best = std::ranges::min_element(rows, {}, rank);
      const Lookup found = look_up_decode(table, batch, kv, kFloorLookup);
      EXPECT_EQ(found.row, static_cast<std::size_t>(best - rows.begin())) << batch << ' ' << kv;
      EXPECT_DOUBLE_EQ(found.distance, rank(*best).second);
    }
  }
}

TEST(LookupChoice, NearestHeadsAndTheFirstOfEquals) {
  const auto tables = sound_tables();
  EXPECT_DOUBLE_EQ(choose_heads(tables, {16, 2, 64})->distance, 0.0);
  const auto other = choose_heads(tables, {8, 8, 128});
  EXPECT_EQ(other->prefill->shape(), (HeadShape{8, 8, 64}));
  EXPECT_DOUBLE_EQ(other->distance, 64.0);
  // (12, 5, 64) is 5 away from both; 16-2-64 comes first.
  EXPECT_EQ(choose_heads(tables, {12, 5, 64})->prefill->shape(), (HeadShape{16, 2, 64}));
  const auto none = choose_heads(tables, {8, 8, 64}, "fp8");
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(all_errors(none.error()), HasSubstr("mha/prefill/g: has no fp8 table"));
}

TEST(LookupChoice, NearestTensorParallelSize) {
  const auto tables = sound_tables();
  const auto tp = [&](std::int64_t size, LookupMode mode) {
    const auto choice = choose_decode(tables, {8, 8, 64}, size, mode).value();
    return std::pair(choice.table->key().tensor_parallel_size, choice.tp_distance);
  };
  using Pair = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(tp(2, LookupMode::kInterpolate), Pair(1, 1));
  EXPECT_EQ(tp(3, LookupMode::kInterpolate), Pair(4, 1));
  EXPECT_EQ(tp(8, LookupMode::kInterpolate), Pair(4, 4));
  EXPECT_EQ(tp(4, LookupMode::kFloor), Pair(4, 0));
  EXPECT_EQ(tp(3, LookupMode::kFloor), Pair(1, 2));
  const auto no_tp1 = choose_decode(tables, {16, 2, 64}, 4, LookupMode::kFloor);
  ASSERT_FALSE(no_tp1.has_value());
  EXPECT_THAT(all_errors(no_tp1.error()), HasSubstr("mha/decode/g/16-2-64-tp1.csv: no such file"));
  EXPECT_FALSE(choose_decode(tables, {1, 1, 1}, 1, LookupMode::kInterpolate).has_value());
  EXPECT_FALSE(choose_decode(tables, {8, 8, 64}, 1, LookupMode::kInterpolate, "fp8").has_value());
}

struct GoldenLookups {
  KernelTables tables;
  std::map<std::string, HeadShape> heads = {{"llama-3.1-8b", {32, 8, 128}},
                                            {"llama-2-7b", {32, 32, 128}},
                                            {"llama-2-70b", {64, 8, 128}},
                                            {"qwen3-14b", {40, 8, 128}},
                                            {"codellama-34b", {64, 8, 128}},
                                            {"qwen2.5-7b", {28, 4, 128}}};

  double operator()(const std::vector<document::Node>& row, LookupMode mode) const {
    const LookupOptions options{.mode = mode};
    const std::int64_t a = row[2].as_integer();
    const std::int64_t b = row[3].as_integer();
    const std::int64_t c = row[4].as_integer();
    if (row[1].as_string() == "gemm") {
      return gemm_mfu(tables, a, b, c, options);
    }
    const PrefillTable& prefill =
        *choose_heads(tables, heads.at(row[0].as_string())).value().prefill;
    if (row[1].as_string() == "prefill") {
      return look_up_prefill(prefill, a, options).mfu;
    }
    const DecodeTable& decode = *choose_decode(tables, prefill.shape(), c, mode).value().table;
    return look_up_decode(decode, a, b, options).mfu;
  }
};

TEST(LookupGolden, EqualsEveryPublishedLookup) {
  const auto data = test::shared_dir() / "kernels" / "blis_h100";
  const auto golden = test::shared_dir() / "golden" / "roofline" / "mfu_lookup.json";
  if (!std::filesystem::exists(data) || !std::filesystem::exists(golden)) {
    GTEST_SKIP() << "the measured kernel tables are not beside the checkout";
  }
  const GoldenLookups ours{.tables = load_bench_data(data.string(), "h100").value()};
  const auto document = document::read_document(golden.string()).value();
  std::int64_t equal = 0;
  for (const document::Node& node : document.find("rows")->items()) {
    const auto& row = node.items();
    const std::string where = row[0].as_string() + " " + row[1].as_string() + " " +
                              row[2].describe() + " " + row[3].describe() + " " + row[4].describe();
    EXPECT_EQ(ours(row, LookupMode::kInterpolate), row[5].as_real()) << where;
    EXPECT_EQ(ours(row, LookupMode::kFloor), row[6].as_real()) << where;
    equal += 2;
  }
  EXPECT_EQ(equal, 8820);
}

}  // namespace
}  // namespace ridgeline::latency::measured
