// What --kv-events-config takes, and every wrong value at once.
#include "cli/commands/kv_events_words.hpp"

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "serve/event_socket.hpp"

namespace ridgeline::cli {
namespace {

TEST(KvEventsWords, AreVllmsKeysAndDefaults) {
  const auto usual = read_kv_events(R"({"enable_kv_cache_events": true})");
  ASSERT_TRUE(usual && *usual);
  EXPECT_EQ((*usual)->endpoint, "tcp://*:5557");
  EXPECT_EQ((*usual)->replay_endpoint, std::nullopt);
  EXPECT_EQ((*usual)->buffer_steps, 10'000);
  EXPECT_EQ((*usual)->hwm, 100'000);
  EXPECT_EQ((*usual)->topic, "");
  const auto given = read_kv_events(
      R"({"enable_kv_cache_events": true, "publisher": "zmq", "endpoint": "ipc:///tmp/e",
          "replay_endpoint": "tcp://*:1", "buffer_steps": 3, "hwm": 4, "max_queue_size": 5,
          "topic": "kv@"})");
  ASSERT_TRUE(given && *given);
  EXPECT_EQ((*given)->endpoint, "ipc:///tmp/e");
  EXPECT_EQ((*given)->replay_endpoint, "tcp://*:1");
  EXPECT_EQ((*given)->buffer_steps, 3);
  EXPECT_EQ((*given)->hwm, 4);
  EXPECT_EQ((*given)->topic, "kv@");
}

TEST(KvEventsWords, MayWantNone) {
  for (const char* const json : {"{}",
                                 R"({"enable_kv_cache_events": false, "publisher": "zmq"})",
                                 R"({"enable_kv_cache_events": true, "publisher": "null"})"}) {
    const auto none = read_kv_events(json);
    ASSERT_TRUE(none) << json;
    EXPECT_FALSE(none->has_value()) << json;
  }
}

TEST(KvEventsWords, AllThatIsWrongIsSaid) {
  const auto wrong = read_kv_events(
      R"({"enable_kv_cache_events": 1, "publisher": "nats", "hwm": -1, "topic": 3, "odd": null})");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().size(), 5U);
  for (const char* const json : {"", "[]", "{", "1"}) {
    EXPECT_FALSE(read_kv_events(json)) << json;
  }
}

}  // namespace
}  // namespace ridgeline::cli
