#include "observe/earlier.hpp"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "domain/request.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/replay.hpp"
#include "workload/source.hpp"

namespace ridgeline::observe {
namespace {

/// Two sessions of two turns each.
std::unique_ptr<workload::Source> sessions(std::int64_t output = 4) {
  workload::ItemList list;
  for (std::int32_t session = 0; session < 2; ++session) {
    for (std::int32_t turn = 0; turn < 2; ++turn) {
      workload::Item item;
      item.arrival = core::Duration::seconds(session);
      item.input_tokens = core::Tokens(8);
      item.output_tokens = core::Tokens(output);
      item.session = session;
      item.turn = turn;
      item.starts_group = turn == 0;
      if (turn > 0) {
        item.parents = {0};
      }
      list.items.push_back(item);
    }
  }
  return workload::make_replay(workload::make_list_stream(std::move(list)));
}

class EarlierFile : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() / "ridgeline_earlier_test.jsonl").string();
  }
  void TearDown() override { std::filesystem::remove(path_); }

  core::Result<Earlier> read(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return read_earlier(path_);
  }

  std::string path_;
};

domain::Request request_of(std::uint32_t id) {
  domain::Request request;
  request.id = core::RequestId(id);
  return request;
}
domain::Request turn(std::uint32_t session, std::int32_t turn) {
  domain::Request request;
  request.id = core::RequestId(99);
  request.session = core::SessionId(session);
  request.turn = turn;
  return request;
}

constexpr const char* kHead =
    "{\"ridgeline_observed\":1,\"model\":\"m\",\"workload_digest\":\"d\",\"prompts\":{\"endpoint\":"
    "\"/v1/chat/completions\",\"form\":\"words\",\"overhead\":5,\"overhead_each_message\":2,"
    "\"salt\":77,\"output\":\"natural\"}}\n";

TEST_F(EarlierFile, KnowsWhatHasAnAnswer) {
  const std::string whole = std::string(kHead) +
                            "{\"id\":3,\"stage\":0,\"warmup\":false}\n"
                            "{\"id\":4,\"stage\":2,\"error\":\"no\"}\n"
                            "{\"scrape_s\":1}\n{\"ridgeline_observed_end\":1}\n";
  const auto earlier = read(whole + "{\"id\":5,\"sta");
  ASSERT_TRUE(earlier.has_value());
  EXPECT_TRUE(earlier->has(request_of(3)));
  EXPECT_FALSE(earlier->has(request_of(4)));
  EXPECT_FALSE(earlier->has(request_of(5)));
  EXPECT_EQ(earlier->last_stage, 2);
  EXPECT_EQ(earlier->whole_bytes, whole.size());
  EXPECT_EQ(earlier->endpoint, Endpoint::kChat);
  EXPECT_EQ(earlier->overhead.first, 5);
  EXPECT_EQ(earlier->overhead.each_message, 2);
  EXPECT_EQ(earlier->salt, 77U);
  EXPECT_TRUE(earlier->natural_output);
  EXPECT_EQ(earlier->workload_digest, "d");
}

TEST_F(EarlierFile, SessionsThatLackATurnStartAnew) {
  auto earlier = read(std::string(kHead) +
                      "{\"id\":0,\"session\":0,\"turn\":0}\n{\"id\":1,\"session\":1,\"turn\":0}\n"
                      "{\"id\":2,\"session\":1,\"turn\":1}\n");
  ASSERT_TRUE(earlier.has_value());
  EXPECT_TRUE(earlier->has(turn(0, 0)));
  earlier->forget_unfinished_sessions(*sessions());
  EXPECT_FALSE(earlier->has(turn(0, 0)));
  EXPECT_TRUE(earlier->has(turn(1, 1)));
}

TEST_F(EarlierFile, AnotherFileIsRefused) {
  for (const char* text :
       {"", "\n", "{}\n", "{\"id\":3}\n", "not JSON\n", "{\"ridgeline_observed"}) {
    EXPECT_FALSE(read(text).has_value()) << text;
  }
}

TEST(WorkloadDigest, IsOfWhatIsSent) {
  EXPECT_EQ(workload_digest(*sessions()), workload_digest(*sessions()));
  EXPECT_NE(workload_digest(*sessions()), workload_digest(*sessions(5)));
}

}  // namespace
}  // namespace ridgeline::observe
