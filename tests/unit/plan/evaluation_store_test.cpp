#include "plan/evaluation_store.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

namespace ridgeline::plan {
namespace {

struct Folder {
  std::string path = testing::TempDir() + "ridgeline_evaluations." + std::to_string(::getpid());
  Folder() { std::filesystem::remove_all(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

std::unique_ptr<EvaluationStore> opened(const Folder& folder, const std::string& version = "1") {
  auto store = EvaluationStore::open(folder.path, version, [] { return 0.0; });
  EXPECT_TRUE(store.has_value());
  return std::move(*store);
}

metrics::PowerSummary a_power() {
  metrics::PowerSummary power;
  power.mean = 300.0;
  power.decode = 0.7;
  return power;
}

TEST(EvaluationStore, GivesBackEveryBit) {
  const Folder folder;
  Capacity capacity{.load = 1.0 / 3.0,
                    .sd = 0.1,
                    .limit = Limit::kUtilisation,
                    .target = 1,
                    .slope = 7.25e-3,
                    .parts = {0.1, -0.2},
                    .evaluations = {{.load = 2.0, .margin = -1.5, .target = 1}},
                    .requests = 12'345,
                    .power = a_power(),
                    .unstable = true};
  Certification certified;
  certified.certificate = {.windows = 29, .passed = 28, .window_requests = 10'000, .at_least = 0.9};
  certified.targets = {{.target = 1, .value_ms = Interval{1.0, 0.9, 1.1}, .exceed_share = 0.01}};
  certified.bottlenecks.front() = 0.3;
  certified.requests = 99;
  ASSERT_TRUE(opened(folder)->keep("a", capacity).has_value());
  ASSERT_TRUE(opened(folder)->keep("b", certified).has_value());
  {
    // A line that a kill cut short.
    std::ofstream torn(folder.path + "/evaluations/torn.ndjson");
    torn << R"({"id":"c","values":[1,2,)";
  }
  const auto store = opened(folder);
  const auto a = store->capacity("a");
  ASSERT_TRUE(a.has_value());
  EXPECT_EQ(a->load, capacity.load);
  EXPECT_EQ(a->limit, capacity.limit);
  EXPECT_EQ(a->slope, capacity.slope);
  EXPECT_EQ(a->parts, capacity.parts);
  ASSERT_EQ(a->evaluations.size(), 1U);
  EXPECT_EQ(a->evaluations.front().margin, -1.5);
  EXPECT_EQ(a->requests, 12'345);
  ASSERT_TRUE(a->power.has_value());
  EXPECT_EQ(a->power->decode, 0.7);
  EXPECT_FALSE(a->power->prefill.has_value());
  EXPECT_TRUE(a->unstable);
  const auto b = store->certification("b");
  ASSERT_TRUE(b.has_value());
  EXPECT_EQ(b->certificate.passed, 28);
  EXPECT_EQ(b->targets.front().value_ms->hi, 1.1);
  EXPECT_EQ(b->bottlenecks.front(), 0.3);
  EXPECT_EQ(b->requests, 99);
  EXPECT_FALSE(store->capacity("b").has_value());  // Another kind of entry.
  EXPECT_FALSE(store->capacity("c").has_value());
}

TEST(EvaluationStore, ADamagedEntryIsNamedAndOneOfAnEarlierVersionIsFoundAnew) {
  const Folder folder;
  Capacity capacity;
  capacity.load = 25.0;
  ASSERT_TRUE(opened(folder)->keep("a", capacity).has_value());
  const auto path = std::filesystem::directory_iterator(folder.path + "/evaluations")->path();
  std::string text;
  std::getline(std::ifstream(path), text);
  std::string changed = text;
  changed[changed.find("25")] = '3';
  std::ofstream(path) << text << '\n' << changed << '\n';
  const auto damaged = EvaluationStore::open(folder.path, "1", [] { return 0.0; });
  ASSERT_FALSE(damaged.has_value());
  EXPECT_EQ(damaged.error().front().where.file, path.string());
  EXPECT_EQ(damaged.error().front().where.line, 2);
  std::ofstream(path) << text.substr(0, text.find(",\"checksum\"")) << "}\n";
  EXPECT_FALSE(opened(folder)->capacity("a").has_value());
}

TEST(EvaluationStore, KeysHoldAllThatMatters) {
  const Folder folder;
  const auto store = opened(folder);
  const CapacityOptions how{.requests = 2'000, .guess = 1.0, .ceiling = 2.0, .seed = 1};
  CapacityOptions longer = how;
  longer.requests = 8'000;
  EXPECT_NE(store->capacity_key("p", {}, how), store->capacity_key("p", {}, longer));
  EXPECT_NE(store->capacity_key("p", {}, how), store->capacity_key("q", {}, how));
  EXPECT_NE(store->capacity_key("p", {}, how), opened(folder, "2")->capacity_key("p", {}, how));
}

TEST(EvaluationStore, SaysThatAFolderCannotBeMade) {
  const auto store = EvaluationStore::open("/dev/null/x", "1", [] { return 0.0; });
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().front().field, "--store");
}

}  // namespace
}  // namespace ridgeline::plan
