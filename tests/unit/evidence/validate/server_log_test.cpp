#include "evidence/validate/server_log.hpp"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::evidence::validate {
namespace {

TEST(ServerLog, ReadsAStart) {
  const ServerLog log = read_server_log(
      "INFO vllm.entrypoints.openai.api_server: vLLM API server version 0.11.0\r\n"
      "INFO utils: non-default args: {'model': '/m/net', 'max_num_seqs': 32, 'enforce_eager': True,"
      " 'served_model_name': ['net'], 'seed_of': None}\n"
      "INFO core: Initializing a V1 LLM engine (v0.11.0) with config: model='/m/net', "
      "enable_prefix_caching=True, chunked_prefill_enabled=False, pooler_config=None\n"
      "INFO runner: Model loading took 62.8571 GiB and 59.277031 seconds\n"
      "INFO worker: Available KV cache memory: 8.18 GiB\n"
      "INFO loggers: Engine 000: vllm cache_config_info with initialization after num_gpu_blocks "
      "is: 2790\n");
  EXPECT_FALSE(log.is_empty);
  EXPECT_EQ(log.version, "0.11.0");
  EXPECT_EQ(log.blocks, 2790);
  EXPECT_NEAR(*log.memory_gib, 71.04, 0.01);
  EXPECT_EQ(log.prefix_caching, true);
  EXPECT_EQ(log.chunked_prefill, false);
  using Flag = std::pair<std::string, std::string>;
  EXPECT_THAT(log.flags,
              ::testing::ElementsAre(Flag("max_num_seqs", "32"), Flag("enforce_eager", "true")));
}

TEST(ServerLog, OlderEnginesCountBlocksInTheirWords) {
  const ServerLog log =
      read_server_log("INFO executor: # GPU blocks: 27,895, # CPU blocks: 2048\nwhatever\n");
  EXPECT_EQ(log.blocks, 27895);
  EXPECT_EQ(log.version, "");
  EXPECT_TRUE(read_server_log("no start\n\n").is_empty);
}

}  // namespace
}  // namespace ridgeline::evidence::validate
