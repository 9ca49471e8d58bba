#include "deploy/assembly.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "deploy/read.hpp"
#include "document/document.hpp"
#include "scenario/options.hpp"

namespace ridgeline::deploy {
namespace {

using testing::HasSubstr;

Found one(const std::string& model) {
  Found found{.title = "test", .servers = {}, .script = {}};
  found.servers.push_back({.role = "serve", .engine = "vllm", .replicas = 2});
  found.servers.front().network.text = model;
  return found;
}

TEST(Assembly, ServersBecomeOneScenario) {
  Found found = one("a/b");
  found.router = Word{.text = "llm-d", .where = {}};
  const auto read = assemble(std::move(found), document::Node::map({}, {}), {});
  ASSERT_TRUE(read) << core::to_string(read.error().front());
  EXPECT_EQ(scenario::flow_text(read->scenario),
            "{model: a/b, cluster: {instances: 2, router: {name: llm-d}}}");
  EXPECT_EQ(read->read_as, "test: 2 servers: 2 vllm; router llm-d");
}

TEST(Assembly, ALaunchWithoutANetworkIsRefused) {
  const auto read = assemble(one(""), document::Node::map({}, {}), {});
  ASSERT_FALSE(read);
  EXPECT_THAT(core::to_string(read.error().front()), HasSubstr("found no network"));
}

}  // namespace
}  // namespace ridgeline::deploy
