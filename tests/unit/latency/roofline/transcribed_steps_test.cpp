// Step times of the original rooflines, transcribed: whole microseconds that inference-sim's own
// code gave (V0: commit 8f29ee0c, sim/latency/roofline.go; V1: commit 69352f6f,
// sim/roofline_step.go, under the constants of three commits), for batches drawn at random. Where
// the whole grid is beside the checkout, golden_steps_test.cpp compares all of it.
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "latency/step_time_model.hpp"
#include "model/model_spec.hpp"
#include "unit/latency/kernel_fixtures.hpp"
#include "unit/latency/roofline/roofline_fixtures.hpp"

namespace ridgeline::latency::roofline {
namespace {

/// Presets of the four columns of times.
constexpr std::array<const char*, 4> kTranscribedPresets = {
    "v0", "v1", "v1-c6e7cf5e", "v1-006cae82"};

struct TranscribedStep {
  std::string network;
  std::int64_t ranks = 1;
  std::vector<std::int64_t> decodes;                            ///< KV lengths.
  std::vector<std::pair<std::int64_t, std::int64_t>> prefills;  ///< (past, new)
  std::array<std::int64_t, 4> us = {};                          ///< By preset.
};

const std::vector<TranscribedStep>& transcribed_steps() {
  static const std::vector<TranscribedStep> kSteps = {
      {"codellama-34b", 2, {51, 5562, 165}, {}, {17388, 15628, 11358, 17696}},
      {"codellama-34b", 2, {956, 224}, {{428, 2791}, {2029, 78}}, {172217, 135105, 207720, 156530}},
      {"codellama-34b", 2, {}, {{0, 46}, {71, 3}}, {17165, 21798, 21798, 21798}},
      {"codellama-34b", 4, {121, 28, 1077, 3131, 81}, {}, {10357, 8536, 5213, 10212}},
      {"codellama-34b", 4, {4103, 439, 83, 54}, {{0, 3080}}, {92989, 109674, 193307, 142800}},
      {"codellama-34b", 4, {}, {{0, 2}, {6379, 172}, {0, 7}}, {10415, 21002, 29961, 25905}},
      {"llama-2-70b", 2, {15858, 788, 25}, {}, {34813, 31295, 22339, 35634}},
      {"llama-2-70b",
       2,
       {317, 856, 478, 1385, 41, 538, 7780, 3584},
       {{0, 1}, {0, 6}, {0, 272}},
       {64474, 39789, 38841, 40870}},
      {"llama-2-70b", 2, {}, {{0, 2524}, {0, 177}, {0, 240}}, {325317, 294393, 492594, 344007}},
      {"llama-2-70b", 4, {3489, 1731, 292, 32, 87}, {}, {19682, 16064, 9216, 19519}},
      {"llama-2-70b", 4, {}, {}, {5300, 3700, 3700, 3700}},
      {"llama-2-70b", 4, {192}, {{962, 2}}, {33719, 20493, 18234, 21633}},
      {"llama-2-70b", 4, {}, {{0, 23}, {0, 8}}, {19495, 23626, 23626, 23626}},
      {"llama-2-70b",
       8,
       {523, 1269, 1410, 3859, 3079, 29, 4883, 2027, 12399, 769,  16,  3106, 166, 124, 2578, 257,
        171, 7459, 181,  7774, 44,   54, 150,  1108, 19,    3668, 120, 49,   396, 23,  3652, 8499},
       {{0, 19}, {8656, 54}},
       {20832, 13700, 17728, 17726}},
      {"llama-2-7b", 1, {2637, 195, 10828}, {}, {9480, 8670, 9021, 9021}},
      {"llama-2-7b", 1, {278, 592, 21, 204}, {{0, 94}}, {12150, 7980, 7990, 7990}},
      {"llama-2-7b", 1, {}, {{0, 12}, {0, 681}}, {15298, 8946, 12705, 9080}},
      {"llama-2-7b", 2, {42, 12396, 488, 11700, 30, 8460, 10802}, {}, {9879, 8198, 6209, 9162}},
      {"llama-2-7b", 2, {801, 6721}, {{0, 5}}, {8608, 5455, 5163, 5596}},
      {"llama-2-7b", 2, {}, {{0, 1}, {0, 1}, {0, 9}}, {5107, 6875, 6875, 6875}},
      {"llama-2-7b", 4, {22, 5278, 35, 12668, 18}, {}, {4742, 3807, 2792, 4319}},
      {"llama-2-7b", 4, {36, 152}, {{0, 2}}, {5115, 3468, 3146, 3631}},
      {"llama-2-7b", 4, {}, {{0, 38}, {0, 2}}, {3766, 4574, 4574, 4574}},
      {"llama-3.1-8b", 1, {7812, 198, 5988, 987, 110}, {}, {7748, 7441, 7732, 7732}},
      {"llama-3.1-8b", 1, {}, {}, {1140, 500, 500, 500}},
      {"llama-3.1-8b", 1, {312}, {{3224, 874}, {10205, 246}}, {36230, 33199, 38428, 33693}},
      {"llama-3.1-8b", 1, {}, {{0, 2}, {4303, 3}}, {7162, 9504, 9504, 9504}},
      {"llama-3.1-8b", 2, {1899, 10306, 196, 55, 694}, {}, {5671, 4993, 4021, 5464}},
      {"llama-3.1-8b",
       2,
       {81, 2906, 1807, 2461, 3872, 20, 116, 71},
       {{0, 9}, {0, 9}},
       {8517, 5990, 5695, 6133}},
      {"llama-3.1-8b", 2, {}, {{6317, 1}, {11425, 3755}, {0, 39}}, {65259, 248806, 300828, 281279}},
      {"llama-3.1-8b",
       3,
       {512, 298, 2647, 1485, 58, 889, 267, 38, 2662, 139, 1183, 1607, 284, 7139, 8181, 474},
       {},
       {4855, 4359, 3374, 4834}},
      {"llama-3.1-8b", 4, {1017, 31, 138, 68, 8667}, {}, {4002, 3324, 2581, 3698}},
      {"llama-3.1-8b", 4, {22}, {{236, 18}}, {5318, 3827, 3790, 3845}},
      {"llama-3.1-8b", 4, {}, {{444, 1}, {0, 207}}, {3881, 4726, 5570, 4726}},
      {"qwen2.5-7b", 1, {4514, 1618, 149}, {}, {6620, 6362, 6612, 6612}},
      {"qwen2.5-7b", 1, {1936, 23}, {{0, 3343}}, {78064, 41198, 55670, 42455}},
      {"qwen2.5-7b", 1, {}, {{0, 2601}, {0, 105}, {0, 28}}, {58789, 39773, 55486, 41077}},
      {"qwen2.5-7b", 2, {21, 12866, 64, 7499, 696, 6519, 16}, {}, {5215, 4719, 3811, 5159}},
      {"qwen2.5-7b", 2, {125, 6200, 6523, 61}, {{105, 11}}, {7746, 5313, 5083, 5425}},
      {"qwen2.5-7b", 2, {}, {{88, 434}, {0, 1885}}, {26343, 25430, 40462, 29293}},
      {"qwen2.5-7b", 4, {10521, 69, 9201}, {}, {3650, 2945, 2254, 3294}},
      {"qwen2.5-7b", 4, {125, 16}, {{0, 2}}, {4886, 3316, 2993, 3479}},
      {"qwen2.5-7b", 4, {}, {{0, 1725}, {0, 181}, {253, 126}}, {12745, 19020, 32995, 24052}},
      {"qwen2.5-7b",
       8,
       {9490, 193, 3221, 2318, 73, 20, 324, 2204, 187, 62, 504, 92, 7340, 16166, 439, 1772},
       {},
       {2989, 2734, 2305, 2988}},
      {"qwen3-14b", 1, {4194, 111}, {}, {12548, 12156, 12663, 12663}},
      {"qwen3-14b", 1, {4671, 425}, {{0, 26}, {0, 1366}}, {71060, 28146, 40423, 29282}},
      {"qwen3-14b", 1, {}, {{0, 8}, {3786, 10}, {3580, 18}}, {12764, 17244, 17244, 17244}},
      {"qwen3-14b", 2, {85, 59, 570, 3385, 2433}, {}, {8600, 7638, 5908, 8475}},
      {"qwen3-14b", 2, {719, 128}, {{0, 3856}, {259, 113}, {0, 46}}, {95949, 85227, 126994, 98254}},
      {"qwen3-14b", 2, {}, {{1916, 14}, {0, 113}}, {8458, 10501, 10501, 10501}},
      {"qwen3-14b", 4, {85, 7553, 150, 152, 1397}, {}, {5798, 4753, 3385, 5443}},
      {"qwen3-14b", 4, {2639, 102}, {{0, 5}}, {8425, 5601, 5223, 5792}},
      {"qwen3-14b", 4, {}, {{0, 1}, {2676, 2}, {0, 8}}, {5685, 7321, 7321, 7321}},
  };
  return kSteps;
}

/// As these originals read the networks: dense layers, hidden size over heads for the head
/// dimension.
model::ModelSpec transcribed_network(const std::string& name) {
  const auto of = [](std::int64_t layers,
                     std::int64_t hidden,
                     std::int64_t heads,
                     std::int64_t kv,
                     std::int64_t width,
                     std::int64_t vocabulary) {
    return latency::fixtures::dense(layers,
                                    hidden,
                                    {.heads = heads, .kv_heads = kv, .head_dim = hidden / heads},
                                    width,
                                    vocabulary);
  };
  if (name == "llama-3.1-8b") {
    return of(32, 4096, 32, 8, 14336, 128256);
  }
  if (name == "llama-2-7b") {
    return of(32, 4096, 32, 32, 11008, 32000);
  }
  if (name == "llama-2-70b") {
    return of(80, 8192, 64, 8, 28672, 32000);
  }
  if (name == "qwen3-14b") {
    return of(40, 5120, 40, 8, 17408, 151936);
  }
  if (name == "codellama-34b") {
    return of(48, 8192, 64, 8, 22016, 32000);
  }
  EXPECT_EQ(name, "qwen2.5-7b");
  return of(28, 3584, 28, 4, 18944, 152064);
}

TEST(TranscribedSteps, EqualToTheMicrosecond) {
  ASSERT_GE(transcribed_steps().size(), 50U);
  for (const TranscribedStep& given : transcribed_steps()) {
    const fixtures::RequestStep step = fixtures::request_step(given.decodes, given.prefills);
    for (std::size_t i = 0; i < kTranscribedPresets.size(); ++i) {
      const fixtures::BuiltModel model(
          kTranscribedPresets[i], transcribed_network(given.network), given.ranks, {});
      ASSERT_TRUE(model);
      EXPECT_EQ(model->predict(step.batch()).gpu(), core::Duration::microseconds(given.us[i]))
          << kTranscribedPresets[i] << ", " << given.network << " on " << given.ranks
          << ", decodes " << testing::PrintToString(given.decodes) << ", prefills "
          << testing::PrintToString(given.prefills);
    }
  }
}

}  // namespace
}  // namespace ridgeline::latency::roofline
