#include "sweep/flat_json.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace ridgeline::sweep {
namespace {

std::string flat(std::string_view json) {
  std::string text;
  flatten(json, [&](std::string_view name, std::string_view value) {
    text += std::string(name) + "=" + std::string(value) + ";";
  });
  return text;
}

TEST(Flatten, JoinsKeysAndLeavesOutPointAndResult) {
  EXPECT_EQ(
      flat(R"({"ordinal":3,"point":{"gpu":"h100"},"result":{"ttft_ms":{"p99":1.5},"n":null}})"),
      "ordinal=3;gpu=h100;ttft_ms.p99=1.5;n=;");
}

TEST(Flatten, TakesEscapesApartAndListsTogether) {
  EXPECT_EQ(flat(R"({"a":"x\"\\\n\u0007}","b":["p","q"],"c":[],"d":true,"e":[{"f":"}"}]})"),
            "a=x\"\\\n\a};b=p q;c=;d=true;e={\"f\":\"}\"};");
}

TEST(Flatten, EndsOnWhatIsCut) {
  const std::string_view json = R"({"a":{"b":["x\"y",1]},"c":"d"})";
  for (std::size_t length = 1; length < json.size(); ++length) {
    static_cast<void>(flat(json.substr(0, length)));
  }
}

}  // namespace
}  // namespace ridgeline::sweep
