// Every step time of the published grid: 438 steps under 21 combinations of model and constants.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"
#include "model/model_spec.hpp"
#include "support/paths.hpp"
#include "unit/latency/kernel_fixtures.hpp"
#include "unit/latency/roofline/roofline_fixtures.hpp"

namespace ridgeline::latency::roofline {
namespace {

std::string dashed(std::string text) {
  std::ranges::replace(text, '_', '-');
  std::ranges::transform(text, text.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return text;
}

model::ModelSpec network_from(const document::Node& node) {
  const auto number = [&](const char* key) { return node.find(key)->as_integer(); };
  const std::int64_t hidden = number("hidden_size");
  const std::int64_t heads = number("num_attention_heads");
  return latency::fixtures::dense(
      number("num_hidden_layers"),
      hidden,
      {.heads = heads, .kv_heads = number("num_key_value_heads"), .head_dim = hidden / heads},
      number("intermediate_size"),
      number("vocab_size"));
}

fixtures::RequestStep step_from(const document::Node& row) {
  std::vector<std::int64_t> decodes;
  for (const document::Node& context : row.find("decode")->items()) {
    decodes.push_back(context.as_integer());
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> prefills;
  for (const document::Node& chunk : row.find("prefill")->items()) {
    prefills.emplace_back(chunk.items()[0].as_integer(), chunk.items()[1].as_integer());
  }
  return fixtures::request_step(decodes, prefills);
}

/// "v2_seed.floor@h100_plo" in the words of the command line.
struct GoldenKey {
  explicit GoldenKey(const std::string& text) {
    const auto at = text.find('@');
    const std::string variant = text.substr(0, at);
    const auto dot = variant.find('.');
    preset = dashed(variant.substr(0, dot));
    lookup = dot == std::string::npos ? "" : variant.substr(dot + 1);
    constants = dashed(text.substr(at + 1));
  }
  std::string preset;
  std::string lookup;
  std::string constants;
};

TEST(GoldenSteps, EqualToTheMicrosecond) {
  const std::string shared = test::shared_dir().string();
  const std::string grid = shared + "/golden/roofline/step_grid.json";
  if (!std::filesystem::exists(grid)) {
    GTEST_SKIP() << "no " << grid;
  }
  const auto document = document::read_document(grid);
  ASSERT_TRUE(document) << core::to_string(document.error().front());
  using ModelKey = std::tuple<std::string, std::int64_t, std::string>;
  std::map<ModelKey, std::unique_ptr<fixtures::BuiltModel>> models;
  int compared = 0;
  for (const document::Node& row : document->find("rows")->items()) {
    const std::string name = row.find("model")->as_string();
    const std::int64_t ranks = row.find("tp")->as_integer();
    const fixtures::RequestStep step = step_from(row);
    for (const auto& [key, value, where] : row.find("out")->members()) {
      auto& model = models[{name, ranks, key}];
      if (model == nullptr) {
        const GoldenKey golden(key);
        const bool tables = golden.preset.starts_with("v2");
        model = std::make_unique<fixtures::BuiltModel>(
            golden.preset,
            network_from(*document->find("models")->find(name)),
            ranks,
            ModelOptions{.bench_data = tables ? shared + "/kernels/blis_h100" : "",
                         .lookup = golden.lookup,
                         .settings = {fixtures::setting("constants", golden.constants.c_str())}});
        ASSERT_TRUE(*model) << key;
      }
      const core::Duration time = (*model)->predict(step.batch()).gpu();
      EXPECT_EQ(time, core::Duration::microseconds(value.as_integer()))
          << key << ", row " << row.find("id")->as_integer();
      ++compared;
    }
  }
  EXPECT_EQ(compared, 9198);
}

}  // namespace
}  // namespace ridgeline::latency::roofline
