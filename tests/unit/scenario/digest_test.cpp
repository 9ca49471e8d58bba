#include "scenario/digest.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

std::string digest_of(const std::vector<Override>& overrides) {
  auto loaded = load_scenario(std::nullopt, overrides, Purpose::kLook);
  EXPECT_TRUE(loaded);
  auto resolved = resolve(std::move(*loaded));
  EXPECT_TRUE(resolved);
  return scenario_digest(resolved->scenario());
}

TEST(ScenarioDigest, IsOfWhatHoldsAndNotOfHowItWasSaid) {
  const std::vector<Override> plain = {{"model", "llama-3.1-8b"}, {"gpu", "h100"}};
  std::vector<Override> said = plain;
  said.push_back({"engine.max_num_seqs", "1024"});
  std::vector<Override> other = plain;
  other.push_back({"engine.max_num_seqs", "256"});
  EXPECT_EQ(digest_of(plain).size(), 32U);
  EXPECT_EQ(digest_of(plain), digest_of(said));
  EXPECT_NE(digest_of(plain), digest_of(other));
}

}  // namespace
}  // namespace ridgeline::scenario
