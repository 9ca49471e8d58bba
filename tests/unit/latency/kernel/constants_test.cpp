#include "latency/kernel/constants.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "latency/kernel/calibration.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "support/paths.hpp"
#include "unit/latency/kernel_fixtures.hpp"

namespace ridgeline::latency::kernel {
namespace {

using testing::HasSubstr;

std::string builtin_text() {
  const auto path = test::source_dir() / "lab" / "data" / "kernel_first.yaml";
  return document::read_file(path.string()).value();
}

/// The builtin text with one passage replaced.
std::string altered(const std::string& from, const std::string& to) {
  std::string text = builtin_text();
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string first_error(const std::string& text) {
  const auto constants = read_constants(text, "test.yaml");
  EXPECT_FALSE(constants.has_value());
  return constants ? std::string() : core::to_string(constants.error().front());
}

TEST(KernelConstants, TheFirstOnesAreRead) {
  const Constants& constants = first_constants();
  EXPECT_DOUBLE_EQ(core::as_microseconds(constants.step.layer_launch_gap), 7.5);
  EXPECT_DOUBLE_EQ(constants.sampling.truncation_per_logit.value(), 191e-12);
  EXPECT_EQ(constants.columns.size(), 5U);
  EXPECT_DOUBLE_EQ(constants.columns.front().gemm_16bit->small_tile_penalty, 0.00395);
  EXPECT_DOUBLE_EQ(constants.columns.front().gemm_16bit->ramp_bytes.value(), 12.5e6);
  EXPECT_FALSE(constants.columns[2].gemm_8bit.has_value());  // A100
}

TEST(KernelConstants, TheBuiltinSetHasTheSameGpusAndBlackwell) {
  std::vector<std::string> names;
  for (const Column& column : builtin_constants().columns) {
    names.push_back(column.name);
  }
  EXPECT_THAT(
      names,
      testing::ElementsAre(
          "h100", "h200", "a100-80gb", "l40s", "b200", "b300", "gb300", "rtx-pro-6000", "generic"));
}

TEST(KernelConstants, MistakesAreNamed) {
  EXPECT_THAT(first_error(altered("step_gap_us: 31", "step_gap_ms: 31")), HasSubstr("step_gap"));
  EXPECT_THAT(first_error(altered("fixed_us: 3.74", "fixed_us: -3.74")), HasSubstr("fixed_us"));
  EXPECT_THAT(first_error(altered("bandwidth_efficiency: 0.898", "bandwidth_efficiency: 89.8")),
              HasSubstr("columns[0].gemm_16bit.bandwidth_efficiency"));
  EXPECT_THAT(first_error(altered("overlap_exponent: 4.14", "overlap_exponent: fast")),
              HasSubstr("overlap_exponent"));
  EXPECT_THAT(first_error(altered("- name: generic", "- name: general")), HasSubstr("generic"));
  EXPECT_THAT(first_error(altered("- name: h200", "- name: h100")), HasSubstr("twice"));
  EXPECT_THAT(first_error(altered("[h20, l20]", "[h20, 20]")), HasSubstr("cut_down_compute"));
}

TEST(KernelConstants, TheGenericColumnIsComplete) {
  // The last gemm_8bit is the generic column's.
  std::string text = builtin_text();
  const auto at = text.rfind("gemm_8bit:");
  const auto end = text.find("decode_attention:", at);
  ASSERT_NE(at, std::string::npos);
  text.erase(at, end - at);
  EXPECT_THAT(first_error(text), HasSubstr("with every set"));
}

TEST(KernelConstants, HostileTextIsRefused) {
  EXPECT_FALSE(read_constants("", "empty.yaml").has_value());
  EXPECT_FALSE(read_constants("[]", "list.yaml").has_value());
  EXPECT_FALSE(read_constants("columns: 3", "short.yaml").has_value());
  EXPECT_FALSE(read_constants("columns: [1, {}, [2]]", "mixed.yaml").has_value());
  EXPECT_FALSE(read_constants("{{{{", "broken.yaml").has_value());
}

hardware::GpuSpec named(const std::string& name, const std::string& architecture) {
  hardware::GpuSpec gpu = fixtures::gpu("h100");
  gpu.name = name;
  gpu.architecture = architecture;
  return gpu;
}

TEST(Calibration, PrefersTheNameThenTheArchitecture) {
  const Constants& constants = first_constants();
  const auto source = [&](const std::string& name, const std::string& architecture) {
    return calibrate(constants, named(name, architecture)).gemm_16bit.source;
  };
  EXPECT_EQ(source("h200", "hopper"), "kernel (h200)");
  EXPECT_EQ(source("h100-pcie", "hopper"), "kernel (h100, same architecture)");
  EXPECT_EQ(source("a100-40gb", "ampere"), "kernel (a100-80gb, same architecture)");
  EXPECT_EQ(source("b200", "blackwell"), "kernel (generic)");
}

TEST(Calibration, WhatAColumnLacksIsGeneric) {
  const Calibration l40s = calibrate(first_constants(), fixtures::gpu("l40s"));
  EXPECT_EQ(l40s.gemm_8bit.source, "kernel (l40s)");
  EXPECT_EQ(l40s.experts_8bit_fine.source, "kernel (generic)");
  EXPECT_EQ(l40s.all_reduce.source, "kernel (PCIe)");
  const Calibration a100 = calibrate(first_constants(), fixtures::gpu("a100-80gb"));
  EXPECT_EQ(a100.gemm_8bit.source, "kernel (generic)");
}

TEST(Calibration, CutDownPartsHaveNoTilePenalty) {
  const Calibration h20 = calibrate(first_constants(), named("h20", "hopper"));
  EXPECT_EQ(h20.gemm_8bit.values.small_tile_penalty, 0.0);
  EXPECT_EQ(h20.gemm_16bit.values.small_tile_penalty, 0.0);
  const Calibration h100 = calibrate(first_constants(), fixtures::gpu("h100"));
  EXPECT_DOUBLE_EQ(h100.gemm_8bit.values.small_tile_penalty, 0.196);
}

TEST(Calibration, CatalogueNamesHaveColumns) {
  for (const Column& column : first_constants().columns) {
    if (column.name == "generic") {
      continue;
    }
    const auto gpu = hardware::find_gpu(column.name);
    ASSERT_TRUE(gpu.has_value()) << column.name;
    EXPECT_EQ(gpu->name, column.name);
    EXPECT_EQ(gpu->architecture, column.architecture);
  }
}

TEST(KernelOverlay, TakesOverTheSetsThatItStates) {
  const auto constants = read_overlay(
      "columns:\n"
      "  - {name: h100, architecture: hopper, decode_attention: {floor_us: 1, fixed_us: 2, "
      "kv_head_wave_us: 3, bandwidth_efficiency: 0.5}}\n"
      "  - {name: mine, architecture: ada, decode_attention: {floor_us: 4, fixed_us: 5, "
      "kv_head_wave_us: 6, bandwidth_efficiency: 0.6}}\n",
      "own.yaml",
      builtin_constants());
  ASSERT_TRUE(constants.has_value());
  const Calibration h100 = calibrate(*constants, fixtures::gpu("h100"));
  EXPECT_EQ(h100.decode_attention.values.bandwidth_efficiency, 0.5);
  const Calibration before = calibrate(builtin_constants(), fixtures::gpu("h100"));
  EXPECT_EQ(h100.gemm_16bit.values.fixed, before.gemm_16bit.values.fixed);
  EXPECT_EQ(h100.step.step_gap, before.step.step_gap);
  // The new column is the first of its architecture; what it lacks comes from generic.
  const Calibration other = calibrate(*constants, named("rtx-4090", "ada"));
  EXPECT_EQ(other.decode_attention.values.bandwidth_efficiency, 0.6);
  EXPECT_EQ(other.decode_attention.source, "kernel (mine, same architecture)");
  EXPECT_EQ(other.gemm_16bit.source, "kernel (generic)");
}

TEST(KernelOverlay, RefusesWhatIsNotAColumn) {
  const auto problem = [](const char* text) {
    const auto constants = read_overlay(text, "own.yaml", builtin_constants());
    EXPECT_FALSE(constants.has_value()) << text;
    return constants ? std::string() : core::to_string(constants.error().front());
  };
  EXPECT_THAT(problem("step: {}\n"), HasSubstr("columns"));
  EXPECT_THAT(problem("columns: 3\n"), HasSubstr("expected a list of GPU columns"));
  EXPECT_THAT(problem("columns: [{name: a, architecture: b, gemm: {}}]\n"), HasSubstr("gemm"));
  EXPECT_THAT(problem("columns: [{name: a, architecture: b}, {name: a, architecture: b}]\n"),
              HasSubstr("'a' stands there twice"));
}

}  // namespace
}  // namespace ridgeline::latency::kernel
