#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::hardware {
namespace {

using testing::HasSubstr;

const std::string kPlain = R"(name: toy
architecture: hopper
peak_bf16: 100TFLOP/s
mem_bandwidth: 2TB/s
memory: 24GiB
usable_memory: 23GiB
l2_cache: 10MiB
num_sms: 100
clock_ghz: 1.5
link_bandwidth: 50GB/s
)";

core::Result<GpuSpec> read(std::string_view yaml) {
  const auto document = document::parse_yaml(yaml, "toy.yaml");
  if (!document) {
    return core::fail(document.error());
  }
  return gpu_from_node(*document, "fallback");
}

/// All problems, one a line; "accepted" when there are none.
std::string problems(std::string_view yaml) {
  const auto gpu = read(yaml);
  if (gpu) {
    return "accepted";
  }
  std::string all;
  for (const core::Error& error : gpu.error()) {
    const std::string line = core::to_string(error);
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    EXPECT_EQ(error.code, core::ErrorCode::kUsage);
    all += line + "\n";
  }
  return all;
}

/// kPlain with the line of `key` replaced; without it when `line` is empty.
std::string replaced(const std::string& key, const std::string& line) {
  std::string text = kPlain;
  const std::size_t at = text.find(key + ":");
  return text.replace(at, text.find('\n', at) - at + 1, line.empty() ? "" : line + "\n");
}

/// A cap takes clocks and peaks in its proportion, and no bandwidth.
TEST(GpuReader, APowerCapTakesClocks) {
  const auto whole = read(kPlain + "power_watts: 700\n");
  const auto capped = read(kPlain + "power_watts: 700\npower_cap: 350\n");
  ASSERT_TRUE(whole && capped);
  EXPECT_DOUBLE_EQ(capped->peak_bf16.value(), whole->peak_bf16.value() / 2);
  EXPECT_DOUBLE_EQ(capped->clock_ghz, whole->clock_ghz / 2);
  EXPECT_EQ(capped->mem_bandwidth, whole->mem_bandwidth);
  EXPECT_EQ(capped->power_watts, 700.0);
  for (const char* const wrong : {"power_cap: 701", "power_cap: 100"}) {
    EXPECT_THAT(problems(kPlain + "power_watts: 700\n" + wrong + "\n"), HasSubstr("power_cap"))
        << wrong;
  }
}

TEST(GpuReader, ReadsQuantitiesInBaseUnits) {
  const auto gpu = read(kPlain);
  ASSERT_TRUE(gpu.has_value()) << problems(kPlain);
  EXPECT_EQ(gpu->name, "toy");
  EXPECT_EQ(gpu->full_name, "toy");
  EXPECT_EQ(gpu->architecture, "hopper");
  EXPECT_DOUBLE_EQ(gpu->peak_bf16.value(), 100e12);
  EXPECT_EQ(gpu->peak_fp8.value(), 0.0);
  EXPECT_EQ(gpu->peak_int8.value(), 0.0);
  EXPECT_DOUBLE_EQ(gpu->mem_bandwidth.value(), 2e12);
  EXPECT_DOUBLE_EQ(gpu->memory.value(), 24.0 * 1024 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(gpu->usable_memory.value(), 23.0 * 1024 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(gpu->l2_cache.value(), 10.0 * 1024 * 1024);
  EXPECT_EQ(gpu->num_sms, 100);
  EXPECT_DOUBLE_EQ(gpu->clock_ghz, 1.5);
  EXPECT_DOUBLE_EQ(gpu->link_bandwidth.value(), 50e9);
  EXPECT_FALSE(gpu->has_nvlink);
  EXPECT_EQ(gpu->gpus_per_node, 8);
  EXPECT_DOUBLE_EQ(gpu->ridge_point(), 50.0);  // 100e12 / 2e12
}

TEST(GpuReader, ValuesMayCarryTheirSource) {
  const auto gpu = read(replaced("num_sms", "num_sms: {value: 7, source: a datasheet}"));
  ASSERT_TRUE(gpu.has_value());
  EXPECT_EQ(gpu->num_sms, 7);
  EXPECT_THAT(gpu->provenance, testing::Contains(testing::Pair("num_sms", "a datasheet")));
  EXPECT_THAT(gpu->provenance, testing::Contains(testing::Pair("mem_bandwidth", "toy.yaml:4")));
  EXPECT_THAT(problems(replaced("num_sms", "num_sms: {source: a datasheet}")),
              HasSubstr("hardware.num_sms.value"));
  EXPECT_THAT(problems(replaced("num_sms", "num_sms: {value: 7, sauce: a datasheet}")),
              HasSubstr("hardware.num_sms.sauce"));
}

TEST(GpuReader, TheNameIsTheCallersWhereTheFileHasNone) {
  const auto gpu = read(replaced("name", ""));
  ASSERT_TRUE(gpu.has_value());
  EXPECT_EQ(gpu->name, "fallback");
}

TEST(GpuReader, OptionalFormatsAndLinks) {
  const auto gpu = read(kPlain +
                        "peak_fp8: 200TFLOP/s\npeak_int8: 201TFLOP/s\nhas_nvlink: true\n"
                        "gpus_per_node: 4\nfull_name: Toy One\naliases: [a, b]\n");
  ASSERT_TRUE(gpu.has_value());
  EXPECT_DOUBLE_EQ(gpu->peak_fp8.value(), 200e12);
  EXPECT_DOUBLE_EQ(gpu->peak_int8.value(), 201e12);
  EXPECT_TRUE(gpu->has_nvlink);
  EXPECT_EQ(gpu->gpus_per_node, 4);
  EXPECT_EQ(gpu->full_name, "Toy One");
}

TEST(GpuReader, UnknownKeysAreRefusedWithTheNearest) {
  EXPECT_THAT(problems(kPlain + "mem_bandwith: 3TB/s\n"),
              testing::AllOf(HasSubstr("toy.yaml:11"),
                             HasSubstr("hardware.mem_bandwith"),
                             HasSubstr("did you mean 'mem_bandwidth'?")));
}

TEST(GpuReader, UnitsAreRequiredAndOfTheRightKind) {
  EXPECT_THAT(problems(replaced("mem_bandwidth", "mem_bandwidth: 3.35")),
              HasSubstr("hardware.mem_bandwidth"));
  EXPECT_THAT(problems(replaced("mem_bandwidth", "mem_bandwidth: 3.35TB")),
              HasSubstr("hardware.mem_bandwidth"));
  EXPECT_THAT(problems(replaced("peak_bf16", "peak_bf16: 989TB/s")),
              HasSubstr("hardware.peak_bf16"));
  EXPECT_THAT(problems(replaced("memory", "memory: 80GB/s")), HasSubstr("hardware.memory"));
}

TEST(GpuReader, ImpossibleValuesAreRefused) {
  EXPECT_THAT(problems(replaced("mem_bandwidth", "mem_bandwidth: 0TB/s")),
              HasSubstr("expected a value above 0"));
  EXPECT_NE(problems(replaced("mem_bandwidth", "mem_bandwidth: -1TB/s")), "accepted");
  EXPECT_NE(problems(replaced("mem_bandwidth", "mem_bandwidth: 1e400TB/s")), "accepted");
  EXPECT_NE(problems(replaced("mem_bandwidth", "mem_bandwidth: [1]")), "accepted");
  EXPECT_THAT(problems(replaced("num_sms", "num_sms: 0")), HasSubstr("hardware.num_sms"));
  EXPECT_THAT(problems(replaced("num_sms", "num_sms: many")), HasSubstr("hardware.num_sms"));
  EXPECT_THAT(problems(replaced("clock_ghz", "clock_ghz: 1500")), HasSubstr("hardware.clock_ghz"));
  EXPECT_THAT(problems(replaced("usable_memory", "usable_memory: 25GiB")),
              HasSubstr("25.00 GiB is more than memory, 24.00 GiB"));
}

TEST(GpuReader, MissingValuesAreNamedTogether) {
  const std::string all = problems("name: empty\n");
  for (const char* key : {"architecture",
                          "peak_bf16",
                          "mem_bandwidth",
                          "memory",
                          "usable_memory",
                          "l2_cache",
                          "num_sms",
                          "clock_ghz",
                          "link_bandwidth"}) {
    EXPECT_THAT(all, HasSubstr(std::string("hardware.") + key + ": is missing"));
  }
}

TEST(GpuReader, WhatIsNoMapIsRefused) {
  EXPECT_NE(problems("[1, 2]"), "accepted");
  EXPECT_NE(problems("h100"), "accepted");
  EXPECT_NE(problems(""), "accepted");
}

TEST(GpuReader, DuplicateKeysAreRefused) {
  EXPECT_NE(problems(kPlain + "num_sms: 132\n"), "accepted");
}

}  // namespace
}  // namespace ridgeline::hardware
