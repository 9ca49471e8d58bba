#include "cli/mcp_server.hpp"

#include <atomic>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::cli {
namespace {

TEST(McpServer, ListensOnThisMachineAloneAndEndsWhenInterrupted) {
  const auto server = McpServer::open(0, std::filesystem::current_path());
  ASSERT_TRUE(server);
  EXPECT_THAT((*server)->url(), testing::MatchesRegex("http://127.0.0.1:[0-9]+/mcp"));
  const std::atomic<bool> interrupt = true;
  (*server)->run(interrupt);
}

}  // namespace
}  // namespace ridgeline::cli
