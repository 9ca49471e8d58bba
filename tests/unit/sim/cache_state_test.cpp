#include "sim/cache_state.hpp"

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::sim {
namespace {

using testing::HasSubstr;

/// Two instances with room for 9 blocks of 16 tokens each.
scenario::Resolved two_small(const std::string& cache_state = "") {
  std::vector<scenario::Override> flags = {{"model", "llama-3.1-8b"},
                                           {"gpu", "h100"},
                                           {"cluster.instances", "2"},
                                           {"engine.num_gpu_blocks", "10"},
                                           {"engine.max_model_len", "128"}};
  if (!cache_state.empty()) {
    flags.push_back({"cache_state", cache_state});
  }
  auto loaded = scenario::load_scenario(std::nullopt, flags, scenario::Purpose::kLook);
  EXPECT_TRUE(loaded.has_value());
  auto resolved = scenario::resolve(std::move(*loaded));
  EXPECT_TRUE(resolved.has_value());
  return std::move(*resolved);
}

/// A request of 40 prompt tokens and 9 output tokens: 48 that are computed, 3 blocks.
void serve(CacheStateKeeper& keeper,
           std::uint32_t id,
           std::uint32_t instance,
           std::int64_t cached = 0,
           domain::Outcome outcome = domain::Outcome::kFinished) {
  domain::Request request;
  request.id = core::RequestId(id);
  request.prompt = {{7, core::Tokens(32)}, {domain::output_content(request.id), core::Tokens(8)}};
  keeper.on_arrival(request);
  domain::RequestRecord record;
  record.id = request.id;
  record.instance = core::InstanceId(instance);
  record.prompt_tokens = core::Tokens(40);
  record.output_tokens = core::Tokens(9);
  record.cached_tokens = core::Tokens(cached);
  record.outcome = outcome;
  keeper.on_request(record, {});
}

TEST(CacheStateKeeper, KeepsTheLastRequestsOfEachInstanceThatFillIt) {
  const scenario::Resolved resolved = two_small();
  CacheStateKeeper keeper(resolved);
  for (std::uint32_t id = 0; id < 6; ++id) {
    serve(keeper, id, 0);
  }
  serve(keeper, 6, 1);
  serve(keeper, 7, 1, 0, domain::Outcome::kFailed);
  const auto& instances = keeper.state().instances;
  ASSERT_EQ(instances.size(), 2);
  EXPECT_EQ(instances[0].requests.size(), 3);  // 9 blocks.
  ASSERT_EQ(instances[1].requests.size(), 1);
  const CacheState::Entry& entry = instances[1].requests.front();
  EXPECT_EQ(entry.tokens, 48);
  EXPECT_EQ(entry.prompt, (domain::Prompt{{7, core::Tokens(32)}}));  // The answer is not found.
}

TEST(CacheStateKeeper, KeepsMoreWhereBlocksWereFound) {
  const scenario::Resolved resolved = two_small();
  CacheStateKeeper keeper(resolved);
  for (std::uint32_t id = 0; id < 12; ++id) {
    serve(keeper, id, 0, id == 0 ? 0 : 32);
  }
  EXPECT_EQ(keeper.state().instances[0].requests.size(), 9);  // One new block each.
}

TEST(CacheStateText, ReadBackGivesRequestsFromBeforeTheRun) {
  const scenario::Resolved resolved = two_small();
  CacheStateKeeper keeper(resolved);
  serve(keeper, 0, 0);
  serve(keeper, 1, 1);
  serve(keeper, 2, 1);
  const std::string path = testing::TempDir() + "cache_state_test.json";
  std::ofstream(path) << cache_state_text(keeper.state());
  const auto warm = warm_requests(two_small(path));
  ASSERT_TRUE(warm.has_value()) << core::to_string(warm.error().front());
  ASSERT_EQ(warm->size(), 2);
  ASSERT_EQ((*warm)[1].size(), 2);
  const domain::Request& request = (*warm)[1].back();
  EXPECT_EQ(request.prompt_tokens, core::Tokens(48));
  EXPECT_EQ(request.output_tokens, core::Tokens(1));
  EXPECT_EQ(request.prompt, (domain::Prompt{{7, core::Tokens(32)}}));
  EXPECT_NE(request.id, (*warm)[1].front().id);
  EXPECT_TRUE(warm_requests(resolved)->empty());
}

TEST(ReadCacheState, SaysWhatIsWrong) {
  const std::string path = testing::TempDir() + "bad_cache_state_test.json";
  const auto problem = [&](const std::string& text) {
    std::ofstream(path) << text;
    const auto state = read_cache_state(path);
    return state ? std::string() : core::to_string(state.error().front());
  };
  EXPECT_THAT(problem(R"({"schema_version": 2, "instances": []})"), HasSubstr("is not 1"));
  EXPECT_THAT(problem(R"({"schema_version": 1})"), HasSubstr("instances: expected a list"));
  const auto with_request = [](const std::string& request) {
    return R"({"schema_version": 1, "instances": [{"model": "m", "requests": [)" + request + "]}]}";
  };
  EXPECT_EQ(problem(with_request(R"({"tokens": 5, "prompt": [[1, 5]]})")), "");
  EXPECT_THAT(problem(with_request(R"({"tokens": 0})")),
              HasSubstr("instances[0].requests[0].tokens: 0 is out of range"));
  EXPECT_THAT(problem(with_request(R"({"tokens": 4, "prompt": [[1, 5]]})")),
              HasSubstr("has 5 tokens, more than `tokens`"));
  EXPECT_THAT(problem(with_request(R"({"tokens": 4, "prompt": [[-1, 5]]})")),
              HasSubstr("expected [content, tokens]"));
}

}  // namespace
}  // namespace ridgeline::sim
