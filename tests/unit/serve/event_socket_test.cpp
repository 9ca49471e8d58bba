// Which endpoint each of several publishers has. What they send is read by a subscriber of Python
// (tests/e2e/test_serve_kv_events.py).
#include "serve/event_socket.hpp"

#include <gtest/gtest.h>

namespace ridgeline::serve {
namespace {

TEST(EventSocket, OthersHaveTheNextPorts) {
  EXPECT_EQ(endpoint_of("tcp://*:5557", 0, "127.0.0.1"), "tcp://127.0.0.1:5557");
  EXPECT_EQ(endpoint_of("tcp://*:5557", 3, "127.0.0.1"), "tcp://127.0.0.1:5560");
  EXPECT_EQ(endpoint_of("tcp://10.0.0.1:80", 1, "127.0.0.1"), "tcp://10.0.0.1:81");
  EXPECT_EQ(endpoint_of("tcp://*:*", 1, "127.0.0.1"), "tcp://127.0.0.1:*");
}

TEST(EventSocket, OtherKindsGetASuffix) {
  EXPECT_EQ(endpoint_of("ipc:///tmp/events", 0, "127.0.0.1"), "ipc:///tmp/events");
  EXPECT_EQ(endpoint_of("ipc:///tmp/events", 2, "127.0.0.1"), "ipc:///tmp/events_dp2");
  EXPECT_EQ(endpoint_of("inproc://events", 1, "127.0.0.1"), "inproc://events_dp1");
}

}  // namespace
}  // namespace ridgeline::serve
