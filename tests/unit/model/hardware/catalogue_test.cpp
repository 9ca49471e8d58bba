#include "model/hardware/catalogue.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::hardware {
namespace {

using testing::HasSubstr;

GpuSpec find(const std::string& name) {
  const auto gpu = find_gpu(name);
  EXPECT_TRUE(gpu.has_value()) << core::to_string(gpu.error().front());
  return gpu.value_or(GpuSpec{});
}

TEST(GpuCatalogue, HoldsTheseGpus) {
  EXPECT_THAT(catalogue_names(),
              testing::ElementsAre("a10",
                                   "a100-40gb",
                                   "a100-80gb",
                                   "a10g",
                                   "a40",
                                   "arc-pro-b60",
                                   "arc-pro-b60-dual",
                                   "b200",
                                   "b300",
                                   "gaudi3",
                                   "gb10",
                                   "gb200",
                                   "gb300",
                                   "gh200",
                                   "h100",
                                   "h100-nvl",
                                   "h100-pcie",
                                   "h20",
                                   "h200",
                                   "h200-nvl",
                                   "h800",
                                   "l20",
                                   "l4",
                                   "l40s",
                                   "mi300x",
                                   "mi325x",
                                   "mi350x",
                                   "mi355x",
                                   "rtx-3090",
                                   "rtx-4090",
                                   "rtx-5090",
                                   "rtx-a6000",
                                   "rtx-pro-4500",
                                   "rtx-pro-5000",
                                   "rtx-pro-5000-72gb",
                                   "rtx-pro-6000",
                                   "tpu-v5e",
                                   "tpu-v6e",
                                   "tpu-v7x",
                                   "trainium2",
                                   "trainium3"));
}

struct Row {
  const char* name;
  double bf16;
  double fp8;
  double int8;
  double bandwidth;
  double usable_gib;
  std::int64_t sms;
  double clock_ghz;
  double link;
  double l2_mib;
};

// Datasheets, dense (without sparsity).
constexpr Row kRows[] = {
    {"h100", 989e12, 1979e12, 1979e12, 3.35e12, 79.19, 132, 1.755, 450e9, 50},
    {"h200", 989e12, 1979e12, 1979e12, 4.8e12, 139.8, 132, 1.755, 450e9, 50},
    {"a100-80gb", 312e12, 0, 624e12, 2.039e12, 79.25, 108, 1.41, 300e9, 40},
    {"a100-40gb", 312e12, 0, 624e12, 1.555e12, 39.39, 108, 1.41, 300e9, 40},
    {"l40s", 362e12, 733e12, 733e12, 0.864e12, 44.39, 142, 2.52, 32e9, 96},
    {"h100-pcie", 756e12, 1513e12, 1513e12, 2.0e12, 79.19, 114, 1.755, 64e9, 50},
    {"h100-nvl", 835.5e12, 1671e12, 1671e12, 3.9e12, 93.1, 132, 1.785, 300e9, 50},
    {"a10", 125e12, 0, 250e12, 0.6e12, 22.0, 72, 1.695, 32e9, 6},
    {"l20", 119.5e12, 239e12, 239e12, 0.864e12, 44.4, 92, 2.52, 32e9, 96},
    {"rtx-3090", 71.2e12, 0, 284.7e12, 0.9362e12, 23.57, 82, 1.695, 32e9, 6},
    {"rtx-5090", 209.5e12, 419e12, 838e12, 1.792e12, 31.36, 170, 2.407, 64e9, 96},
    {"rtx-a6000", 154.8e12, 0, 309.7e12, 0.768e12, 47.5, 84, 1.8, 32e9, 6},
    {"rtx-pro-4500", 210.9e12, 421.8e12, 421.8e12, 0.896e12, 31.4, 82, 2.407, 64e9, 64},
    {"rtx-pro-5000", 258e12, 516e12, 516e12, 1.344e12, 47.4, 110, 2.377, 64e9, 96},
    {"rtx-pro-5000-72gb", 258e12, 516e12, 516e12, 1.344e12, 71.2, 110, 2.377, 64e9, 96},
    {"mi350x", 2306.9e12, 4613.7e12, 4613.7e12, 8.0e12, 287, 256, 2.2, 537.6e9, 32},
    {"arc-pro-b60", 98.3e12, 0, 197e12, 0.456e12, 22.8, 20, 2.4, 28.4e9, 18},
    {"tpu-v6e", 918e12, 918e12, 1836e12, 1.64e12, 31.2, 2, 1.75, 400e9, 128},
};

TEST(GpuCatalogue, HasTheDatasheetsValues) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    const GpuSpec gpu = find(row.name);
    EXPECT_EQ(gpu.name, row.name);
    EXPECT_DOUBLE_EQ(gpu.peak_bf16.value(), row.bf16);
    EXPECT_DOUBLE_EQ(gpu.peak_fp8.value(), row.fp8);
    EXPECT_DOUBLE_EQ(gpu.peak_int8.value(), row.int8);
    EXPECT_DOUBLE_EQ(gpu.mem_bandwidth.value(), row.bandwidth);
    EXPECT_DOUBLE_EQ(core::as_gibibytes(gpu.usable_memory), row.usable_gib);
    EXPECT_EQ(gpu.num_sms, row.sms);
    EXPECT_DOUBLE_EQ(gpu.clock_ghz, row.clock_ghz);
    EXPECT_DOUBLE_EQ(gpu.link_bandwidth.value(), row.link);
    EXPECT_DOUBLE_EQ(gpu.l2_cache.value(), row.l2_mib * 1024 * 1024);
    EXPECT_LE(gpu.usable_memory, gpu.memory);
    EXPECT_EQ(gpu.gpus_per_node, 8);
  }
  EXPECT_TRUE(find("h100").has_nvlink);
  EXPECT_FALSE(find("l40s").has_nvlink);
  EXPECT_EQ(find("l40s").architecture, "ada");
  // 4-bit peaks, each half of its figure with sparsity.
  EXPECT_DOUBLE_EQ(find("rtx-5090").peak_fp4.value(), 1676e12);
  EXPECT_DOUBLE_EQ(find("rtx-pro-5000").peak_fp4.value(), 1032e12);
  EXPECT_DOUBLE_EQ(find("mi350x").peak_fp4.value(), 9227.5e12);
  // 989e12 / 3.35e12
  EXPECT_NEAR(find("h100").ridge_point(), 295.2, 0.05);
}

TEST(GpuCatalogue, ChipsWithoutMeasuredRelativesAreBounds) {
  struct Bound {
    const char* name;
    double bf16;
    double fp8;
    double bandwidth;
    double memory_gib;
    std::int64_t per_node;
  };
  constexpr Bound kBounds[] = {
      {"mi350x", 2306.9e12, 4613.7e12, 8.0e12, 288, 8},
      {"tpu-v7x", 2307e12, 4614e12, 7.38e12, 192, 4},
      {"trainium2", 667e12, 1299e12, 2.9e12, 96, 16},
      {"trainium3", 671e12, 2517e12, 4.9e12, 144, 16},
  };
  for (const Bound& bound : kBounds) {
    SCOPED_TRACE(bound.name);
    const GpuSpec gpu = find(bound.name);
    EXPECT_TRUE(gpu.datasheet_only);
    EXPECT_DOUBLE_EQ(gpu.peak_bf16.value(), bound.bf16);
    EXPECT_DOUBLE_EQ(gpu.peak_fp8.value(), bound.fp8);
    EXPECT_DOUBLE_EQ(gpu.mem_bandwidth.value(), bound.bandwidth);
    EXPECT_DOUBLE_EQ(core::as_gibibytes(gpu.memory), bound.memory_gib);
    EXPECT_EQ(gpu.gpus_per_node, bound.per_node);
  }
}

TEST(GpuCatalogue, EveryValueNamesItsSource) {
  for (const std::string& name : catalogue_names()) {
    for (const auto& [key, source] : find(name).provenance) {
      EXPECT_THAT(source, testing::Not(HasSubstr(".yaml"))) << name << " " << key;
    }
    EXPECT_GE(find(name).provenance.size(), 11U);
  }
}

TEST(GpuCatalogue, MarketNamesMeanThem) {
  const std::map<std::string, std::vector<std::string>> names = {
      {"h100",
       {"H100",
        "H100-SXM",
        "H100-SXM-80GB",
        "H100-80GB",
        "NVIDIA H100 80GB HBM3",
        "nvidia_h100_80gb_hbm3"}},
      {"h200", {"H200", "H200-SXM-141GB", "NVIDIA H200"}},
      {"a100-80gb",
       {"a100",
        "A100-80",
        "A100-SXM",
        "A100-SXM-80GB",
        "A100-SXM4-80GB",
        "NVIDIA A100-SXM4-80GB",
        "A100-80GB"}},
      {"a100-40gb", {"A100-40GB", "A100-SXM4-40GB"}},
      {"l40s", {"L40S", "NVIDIA L40S", "L40S-48GB"}},
      {"h100-pcie", {"H100-PCIe", "NVIDIA H100 PCIe", "H100-PCIE-80GB"}},
  };
  for (const auto& [gpu, aliases] : names) {
    for (const std::string& alias : aliases) {
      EXPECT_EQ(find(alias).name, gpu) << alias;
    }
  }
}

TEST(GpuCatalogue, NoNameMeansTwoGpus) {
  for (const document::EmbeddedFile& file : catalogue_files()) {
    const auto document = document::parse_yaml(file.text, std::string(file.name));
    ASSERT_TRUE(document.has_value());
    EXPECT_EQ(document->find("name")->as_string() + ".yaml", file.name);
    for (const document::Node& alias : document->find("aliases")->items()) {
      EXPECT_EQ(find(alias.as_string()).name + ".yaml", file.name) << alias.as_string();
    }
  }
}

TEST(GpuCatalogue, UnknownNamesGiveTheNearest) {
  const auto wrong = find_gpu("h1000");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().front().field, "gpu");
  EXPECT_THAT(wrong.error().front().message,
              HasSubstr("\"h1000\" is neither a GPU of the catalogue nor a path that exists"));
  EXPECT_THAT(wrong.error().front().hint, HasSubstr("h100"));
  EXPECT_FALSE(find_gpu("").has_value());
  EXPECT_THAT(find_gpu("/no/such/file.yaml").error().front().hint, HasSubstr("YAML"));
}

TEST(GpuCatalogue, APathMeansItsFile) {
  const std::string path =
      (std::filesystem::path(testing::TempDir()) / "ridgeline_gpu_test.yaml").string();
  std::ofstream(path) << "architecture: ada\npeak_bf16: 1PFLOP/s\nmem_bandwidth: 1TB/s\n"
                         "memory: 80GB\nusable_memory: 79GB\nl2_cache: 1MB\nnum_sms: 1\n"
                         "clock_ghz: 1\nlink_bandwidth: 1GB/s\n";
  const GpuSpec gpu = find(path);
  EXPECT_EQ(gpu.name, path);
  EXPECT_DOUBLE_EQ(gpu.peak_bf16.value(), 1e15);
  EXPECT_DOUBLE_EQ(gpu.memory.value(), 80e9);
  std::filesystem::remove(path);
}

TEST(GpuCatalogue, AFileTakesWhatItDoesNotStateFromItsBase) {
  const std::string path =
      (std::filesystem::path(testing::TempDir()) / "ridgeline_gpu_base_test.yaml").string();
  std::ofstream(path) << "name: mine\nbase: H100-SXM-80GB\nmem_bandwidth: 3.9TB/s\n";
  const GpuSpec gpu = find(path);
  const GpuSpec h100 = find("h100");
  EXPECT_EQ(gpu.name, "mine");
  EXPECT_EQ(gpu.full_name, "mine");
  EXPECT_EQ(gpu.base, "h100");
  EXPECT_EQ(gpu.architecture, h100.architecture);
  EXPECT_EQ(gpu.num_sms, h100.num_sms);
  EXPECT_EQ(gpu.peak_fp8, h100.peak_fp8);
  EXPECT_DOUBLE_EQ(gpu.mem_bandwidth.value(), 3.9e12);
  std::ofstream(path) << "name: mine\nbase: h10\n";
  const auto wrong = find_gpu(path);
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().front().field, "hardware.base");
  EXPECT_EQ(wrong.error().front().message, "\"h10\" is not a GPU of the catalogue");
  EXPECT_EQ(wrong.error().front().where.line, 2);
  EXPECT_EQ(wrong.error().front().hint, "did you mean 'h100'?");
  // A file is no base, nor its own.
  std::ofstream(path) << "name: mine\nbase: " << path << "\n";
  const auto file = find_gpu(path);
  ASSERT_FALSE(file.has_value());
  EXPECT_THAT(file.error().front().message,
              testing::HasSubstr("is a file, expected a GPU of the catalogue"));
  std::filesystem::remove(path);
}

TEST(GpuCatalogue, OtherMemoryThanTheBasesIsUsableInTheSameShare) {
  const std::string path =
      (std::filesystem::path(testing::TempDir()) / "ridgeline_gpu_memory_test.yaml").string();
  // 79.19 of an H100's 80 GiB are usable.
  for (const char* memory : {"160GiB", "{value: 160GiB, source: mine}"}) {
    std::ofstream(path) << "name: mine\nbase: h100\nmemory: " << memory << "\n";
    EXPECT_NEAR(core::as_gibibytes(find(path).usable_memory), 2 * 79.19, 0.01) << memory;
  }
  std::ofstream(path) << "name: mine\nbase: h100\nmemory: 40GiB\n";
  EXPECT_NEAR(core::as_gibibytes(find(path).usable_memory), 79.19 / 2, 0.01);
  std::ofstream(path) << "name: mine\nbase: h100\nmemory: 160GiB\nusable_memory: 150GiB\n";
  EXPECT_NEAR(core::as_gibibytes(find(path).usable_memory), 150.0, 1e-6);
  // What is wrong is the file's, not the base's.
  std::ofstream(path) << "name: mine\nbase: h100\nmemory: lots\n";
  const auto wrong = find_gpu(path);
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().front().where.file, path);
  std::filesystem::remove(path);
}

TEST(GpuCatalogue, AnUnknownNameMayBeMeantAsAFile) {
  const auto near = find_gpu("h10");
  ASSERT_FALSE(near.has_value());
  EXPECT_THAT(near.error().front().hint,
              testing::AllOf(testing::HasSubstr("did you mean 'h100'?"),
                             testing::HasSubstr("the path of a YAML file")));
}

TEST(GpuCatalogue, SingleValuesCanBeReplaced) {
  const auto document = find_gpu_document("H100-SXM-80GB");
  ASSERT_TRUE(document.has_value());
  const core::Location where{.file = "command line"};
  std::vector<document::Node::Member> members = document->members();
  for (document::Node::Member& member : members) {
    if (member.key == "mem_bandwidth") {
      member.value = document::Node::string("4TB/s", where);
    }
  }
  const auto gpu = gpu_from_node(document::Node::map(members, document->where()), "H100-SXM-80GB");
  ASSERT_TRUE(gpu.has_value());
  EXPECT_EQ(gpu->name, "h100");
  EXPECT_DOUBLE_EQ(gpu->mem_bandwidth.value(), 4e12);
  EXPECT_THAT(gpu->provenance, testing::Contains(testing::Pair("mem_bandwidth", "command line")));
}

}  // namespace
}  // namespace ridgeline::hardware
