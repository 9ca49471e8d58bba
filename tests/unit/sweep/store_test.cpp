#include "sweep/store.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "sweep/merge.hpp"
#include "sweep/row.hpp"
#include "sweep/shard_file.hpp"
#include "unit/sweep/documents.hpp"

namespace ridgeline::sweep {
namespace {

using testing::HasSubstr;

/// A folder of its own for each test.
class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "sweep_store_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  core::Result<Store> open(std::string_view digest = "d1", std::string_view version = "1") {
    return Store::open(folder_,
                       yaml(std::string("{digest: ") + std::string(digest) + ", version: '" +
                            std::string(version) + "', points: 4}"));
  }

  static std::string line(std::int64_t ordinal, std::string_view result = "{a: 1}") {
    return line_of({.ordinal = ordinal,
                    .id = "id",
                    .point = yaml("{gpu: h100}"),
                    .result = yaml(result),
                    .errors = {},
                    .wall_time_s = 1.0});
  }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/shards/" + name) << text;
  }

  static std::string merged(const Store& store) {
    auto contents = store.read();
    EXPECT_TRUE(contents);
    std::ostringstream out;
    const auto done = merge_ndjson(*contents, out);
    return done ? out.str() : core::to_string(done.error().front());
  }

  std::string folder_;
};

TEST_F(StoreTest, IsFoundAgainAndRefusesAnotherSweepOrVersion) {
  ASSERT_TRUE(open());
  const auto again = open();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->points(), 4);
  EXPECT_THAT(open("d2").error().front().message,
              HasSubstr("holds another sweep (d1, this is d2)"));
  EXPECT_THAT(open("d1", "2").error().front().message, HasSubstr("version 1, this is 2"));
  EXPECT_THAT(Store::find(folder_ + "x").error().front().message, HasSubstr("holds no sweep"));
}

TEST_F(StoreTest, NamesItsFileWhereThatIsDamaged) {
  ASSERT_TRUE(open());
  std::ofstream(folder_ + "/sweep.json") << "{\"digest\": ";
  const auto damaged = open();
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().front().message, HasSubstr(folder_ + "/sweep.json' is damaged: "));
  EXPECT_THAT(Store::find(folder_).error().front().message, HasSubstr("is damaged"));
}

TEST_F(StoreTest, CountsWhyPointsHaveNoResult) {
  const auto store = open();
  ASSERT_TRUE(store);
  const auto refused = [](std::int64_t ordinal, const char* why) {
    return line_of({.ordinal = ordinal,
                    .id = "id",
                    .point = yaml("{gpu: h100}"),
                    .result = {},
                    .errors = {{.field = "gpu", .message = why}},
                    .wall_time_s = 1.0});
  };
  write("a.ndjson",
        store->header() + line(0) + refused(1, "is \"odd\"") + refused(2, "other") +
            refused(3, "is \"odd\""));
  const auto contents = store->read();
  ASSERT_TRUE(contents);
  EXPECT_THAT(
      contents->reasons,
      testing::ElementsAre(testing::Pair("gpu: is \"odd\"", 2), testing::Pair("gpu: other", 1)));
}

TEST_F(StoreTest, AppendsToAFileOfItsOwn) {
  const auto store = open();
  ASSERT_TRUE(store);
  const auto clock = [] { return 0.0; };
  auto first = ShardFile::create(store->shards(), "0-of-1", store->header(), clock);
  auto second = ShardFile::create(store->shards(), "0-of-1", store->header(), clock);
  ASSERT_TRUE(first && second);
  EXPECT_TRUE((*first)->append(line(0)));
  EXPECT_TRUE((*second)->append(line(1)));
  EXPECT_TRUE((*first)->sync());
  const auto contents = store->read();
  ASSERT_TRUE(contents);
  EXPECT_EQ(contents->files.size(), 2U);
  EXPECT_EQ(contents->done, 2);
  EXPECT_EQ(contents->wall_time_s, 2.0);
}

TEST_F(StoreTest, PassesOverTornLines) {
  const auto store = open();
  ASSERT_TRUE(store);
  const std::string torn = line(2);
  write("a.ndjson", store->header() + line(0) + torn.substr(0, torn.size() / 2));
  write("b.ndjson", store->header() + line(1) + torn.substr(0, torn.size() - 1));
  write("c.ndjson", store->header().substr(0, 5));
  write("d.ndjson", "");
  const auto contents = store->read();
  ASSERT_TRUE(contents);
  EXPECT_EQ(contents->done, 2);
  EXPECT_EQ(contents->torn_lines, 3);
  EXPECT_FALSE(contents->has[2]);
}

TEST_F(StoreTest, ADamagedRowIsNamedByItsFileAndLine) {
  const auto store = open();
  ASSERT_TRUE(store);
  std::string changed = line(1);
  changed[changed.find("\"a\":1") + 4] = '2';
  write("a.ndjson", store->header() + line(0) + changed + line(2) + "\n" + line(3));
  write("b.ndjson", store->header() + line(7));  // There are four points.
  const auto contents = store->read();
  ASSERT_FALSE(contents);
  ASSERT_EQ(contents.error().size(), 2U);
  for (const auto& [error, number] :
       {std::pair(contents.error()[0], 3), {contents.error()[1], 5}}) {
    EXPECT_THAT(error.where.file, testing::EndsWith("a.ndjson"));
    EXPECT_EQ(error.where.line, number);
    EXPECT_THAT(error.message, HasSubstr("this row is damaged"));
  }
  write("a.ndjson", store->header() + line(0));
  EXPECT_THAT(store->read().error().front().message,
              HasSubstr("of a point that the sweep does not"));
}

TEST_F(StoreTest, RowsOfEarlierVersionsAreCounted) {
  const auto store = open();
  ASSERT_TRUE(store);
  const std::string whole = line(0);
  write("a.ndjson",
        store->header() + whole.substr(0, whole.find(",\"checksum\"")) + "}}\n" + line(1));
  const auto contents = store->read();
  ASSERT_TRUE(contents);
  EXPECT_EQ(contents->done, 2);
  EXPECT_EQ(contents->unchecked_rows, 1);
}

TEST_F(StoreTest, RefusesAFileOfAnotherSweep) {
  const auto store = open();
  ASSERT_TRUE(store);
  write("a.ndjson", "{\"sweep\":\"other\"}\n" + line(0));
  EXPECT_THAT(store->read().error().front().message, HasSubstr("belongs to another sweep"));
}

TEST_F(StoreTest, MergesInTheOrderOfPointsEachOnce) {
  const auto store = open();
  ASSERT_TRUE(store);
  write("a.ndjson", store->header() + line(3) + line(1));
  write("b.ndjson", store->header() + line(0) + line(1) + line(2));
  const std::string whole = merged(*store);
  std::filesystem::remove(folder_ + "/shards/a.ndjson");
  write("b.ndjson", store->header() + line(0) + line(1) + line(2) + line(3));
  EXPECT_EQ(merged(*store), whole);
  EXPECT_THAT(whole, testing::StartsWith("{\"ordinal\":0,\"id\":\"id\",\"status\":\"ok\","));
  EXPECT_THAT(whole, testing::Not(HasSubstr("run_info")));
}

TEST_F(StoreTest, TwoResultsOfOnePointAreAnError) {
  const auto store = open();
  ASSERT_TRUE(store);
  write("a.ndjson", store->header() + line(0));
  write("b.ndjson", store->header() + line(0, "{a: 2}"));
  EXPECT_THAT(merged(*store),
              testing::AllOf(
                  HasSubstr("two results differ"), HasSubstr("a.ndjson"), HasSubstr("b.ndjson")));
}

TEST_F(StoreTest, ATableHasAColumnForEveryNumber) {
  const auto store = open();
  ASSERT_TRUE(store);
  write("a.ndjson", store->header() + line(0) + line(1, "{a: 2, b: {c: 'x,y'}}"));
  auto contents = store->read();
  ASSERT_TRUE(contents);
  std::ostringstream out;
  ASSERT_TRUE(merge_csv(*contents, out));
  EXPECT_EQ(out.str(), "ordinal,id,status,gpu,a,b.c\n0,id,ok,h100,1,\n1,id,ok,h100,2,\"x,y\"\n");
}

}  // namespace
}  // namespace ridgeline::sweep
