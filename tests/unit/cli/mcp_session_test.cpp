#include "cli/mcp_session.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/mcp_tools.hpp"
#include "document/document.hpp"
#include "document/node_path.hpp"

namespace ridgeline::cli {
namespace {

using document::Node;
using document::node_at;
using testing::HasSubstr;
using testing::SizeIs;

/// What a client of its own hears of so many lines.
std::vector<Node> heard(const std::vector<std::string>& lines) {
  std::vector<Node> messages;
  McpSession session(std::filesystem::current_path(), [&](const McpSession::Message& message) {
    EXPECT_EQ(message.line.find('\n'), std::string::npos);
    if (!message.line.empty()) {
      messages.push_back(*document::parse_json(message.line, ""));
    }
  });
  for (const std::string& line : lines) {
    session.receive(line);
  }
  session.finish();
  return messages;
}

std::string call(std::string_view tool, std::string_view arguments, std::string_view more = "") {
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"{}","arguments":{}{}}}}})",
      tool,
      arguments,
      more);
}

constexpr std::string_view kRun =
    R"({"model":"llama-3.1-8b","gpu":"h100","workload":{"input_len":50,"output_len":10,)"
    R"("request_rate":5,"num_prompts":40}})";

TEST(McpSession, AgreesOnARevisionThatBothKnow) {
  const auto answer = [](std::string_view revision) {
    const auto messages = heard({fmt::format(
        R"({{"jsonrpc":"2.0","id":"a","method":"initialize","params":{{"protocolVersion":"{}"}}}})",
        revision)});
    EXPECT_EQ(node_at(messages.at(0), "id").as_string(), "a");
    return node_at(messages.at(0), "result.protocolVersion").as_string();
  };
  EXPECT_EQ(answer("2025-03-26"), "2025-03-26");
  EXPECT_EQ(answer("2031-01-01"), "2025-11-25");
}

TEST(McpSession, NotificationsGetNoAnswer) {
  EXPECT_THAT(heard({R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
                     R"({"jsonrpc":"2.0","method":"notifications/cancelled"})"}),
              SizeIs(0));
}

TEST(McpSession, EveryToolHasASchemaAndAnswersOrSaysWhatIsMissing) {
  for (const Node& tool : mcp_tools().items()) {
    const std::string name = node_at(tool, "name").as_string();
    EXPECT_EQ(node_at(tool, "inputSchema.type").as_string(), "object") << name;
    EXPECT_FALSE(node_at(tool, "description").as_string().empty()) << name;
    const auto messages = heard({call(name, "{}")});
    ASSERT_THAT(messages, SizeIs(1)) << name;
    EXPECT_TRUE(node_at(messages[0], "result.structuredContent").is_map()) << name;
  }
}

TEST(McpSession, ARunIsATableAndAResult) {
  const auto messages = heard({call("run", kRun)});
  const Node& result = node_at(messages.at(0), "result");
  EXPECT_FALSE(node_at(result, "isError").as_bool());
  EXPECT_THAT(node_at(result, "content").items().at(0).find("text")->as_string(),
              HasSubstr("TTFT"));
  EXPECT_EQ(node_at(result, "structuredContent.summary.completed").as_integer(), 40);
}

TEST(McpSession, ABadScenarioIsAnErrorOfTheToolWithItsField) {
  const auto messages = heard({call("run", R"({"model":"no-such-network","gpu":"h100"})")});
  const Node& result = node_at(messages.at(0), "result");
  EXPECT_TRUE(node_at(result, "isError").as_bool());
  EXPECT_THAT(node_at(result, "content").items().at(0).find("text")->as_string(),
              HasSubstr("error: model: \"no-such-network\""));
}

TEST(McpSession, FilesLieBelowTheRoot) {
  for (const char* arguments : {R"({"base":"/etc/hostname"})", R"({"base":"../secret.yaml"})"}) {
    const auto messages = heard({call("run", arguments)});
    EXPECT_TRUE(node_at(messages.at(0), "result.isError").as_bool()) << arguments;
  }
}

TEST(McpSession, ProgressGrowsUpToTheAnswer) {
  const auto messages = heard({call("run", kRun, R"(,"_meta":{"progressToken":"p"})")});
  double last = 0.0;
  for (std::size_t i = 0; i + 1 < messages.size(); ++i) {
    EXPECT_EQ(node_at(messages[i], "params.progressToken").as_string(), "p");
    EXPECT_GT(node_at(messages[i], "params.progress").as_real(), last);
    last = node_at(messages[i], "params.progress").as_real();
  }
  EXPECT_EQ(node_at(messages.back(), "id").as_integer(), 7);
}

TEST(McpSession, ACancelledCallIsNotAnswered) {
  constexpr std::string_view kLong =
      R"({"model":"llama-3.1-8b","gpu":"h100","workload":{"input_len":500,"output_len":500,)"
      R"("request_rate":5,"num_prompts":5000000}})";
  EXPECT_THAT(
      heard({call("run", kLong),
             R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})"}),
      SizeIs(0));
}

TEST(McpSession, FaultsOfMessagesHaveTheirCodes) {
  const auto code = [](const std::string& line) {
    return node_at(heard({line}).at(0), "error.code").as_integer();
  };
  EXPECT_EQ(code("{"), -32700);
  EXPECT_EQ(code("[]"), -32600);
  EXPECT_EQ(code("3"), -32600);
  EXPECT_EQ(code(R"({"id":1,"method":"ping"})"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":{},"method":"ping"})"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1})"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"resources/list"})"), -32601);
  EXPECT_EQ(code(call("serve", "{}")), -32602);
}

TEST(McpTools, HelpFindsSettingsByTheirWords) {
  const Node found = mcp_help(*document::parse_json(R"({"about":"max_num_seqs"})", ""));
  EXPECT_EQ(node_at(found, "settings").items().at(0).find("path")->as_string(),
            "engine.max_num_seqs");
  EXPECT_EQ(
      node_at(mcp_help(*document::parse_json(R"({"about":"plan"})", "")), "tools").items().size(),
      1U);
}

}  // namespace
}  // namespace ridgeline::cli
