#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::hardware {
namespace {

constexpr std::string_view kFlops = "flops_per_second";
constexpr std::string_view kRate = "bytes_per_second";
constexpr std::string_view kSize = "bytes";

/// Bounds that only a slip of the keyboard crosses.
constexpr document::Range<std::int64_t> kSms{1, 100'000};
constexpr document::Range<std::int64_t> kGpusPerNode{1, 1024};
constexpr document::Range<double> kClockGhz{0.1, 10.0};
constexpr document::Range<double> kWatts{1.0, 100'000.0};
/// Sixteen lanes of PCIe 4.0, one direction (PCI-SIG).
constexpr core::BytesPerSecond kPcie4{32e9};

/// Reads values that stand alone or as {value, source}, and keeps where each came from.
class FactReader {
 public:
  FactReader(const document::Node& document, core::Errors& errors, GpuSpec& gpu)
      : document_(document), reader_(document, "hardware", errors), errors_(errors), gpu_(gpu) {}

  [[nodiscard]] bool states(std::string_view key) const { return document_.find(key) != nullptr; }

  std::string text(std::string_view key) { return reader_.required_string(key); }
  std::optional<std::string> optional_text(std::string_view key) { return reader_.string(key); }
  void skip(std::string_view key) { reader_.node(key); }

  /// A quantity above zero.
  double quantity(std::string_view key, std::string_view unit_kind) {
    return fact(key, [&](document::ObjectReader& reader, std::string_view at) {
      const std::size_t before = errors_.size();
      const double value = reader.required_quantity(at, unit_kind);
      if (errors_.size() == before && value <= 0.0) {
        reader.problem(at, "expected a value above 0");
      }
      return value;
    });
  }

  /// A quantity above zero; 0 when absent.
  double optional_quantity(std::string_view key, std::string_view unit_kind) {
    return states(key) ? quantity(key, unit_kind) : 0.0;
  }

  double real(std::string_view key, document::Range<double> range) {
    return fact(key, [&](document::ObjectReader& reader, std::string_view at) {
      return reader.required_real(at, range);
    });
  }

  std::int64_t integer(std::string_view key, document::Range<std::int64_t> range) {
    return fact(key, [&](document::ObjectReader& reader, std::string_view at) {
      return reader.required_integer(at, range);
    });
  }

  bool flag(std::string_view key) {
    return fact(key, [&](document::ObjectReader& reader, std::string_view at) {
      return reader.boolean(at).value_or(false);
    });
  }

  void problem(std::string_view key, std::string message) {
    reader_.problem(key, std::move(message));
  }

  void finish() { reader_.finish(); }

 private:
  template <class Read>
  std::invoke_result_t<const Read&, document::ObjectReader&, std::string_view> fact(
      std::string_view key, const Read& read) {
    const document::Node* node = reader_.node(key);
    if (node == nullptr) {
      return read(reader_, key);
    }
    const core::Location& where = node->where();
    const std::string file = where.file.empty() ? "input" : where.file;
    std::string source = where.line > 0 ? fmt::format("{}:{}", file, where.line) : file;
    if (!node->is_map()) {
      gpu_.provenance.emplace_back(key, std::move(source));
      const document::Node alone = document::Node::map(
          {document::Node::Member{.key = std::string(key), .value = *node, .where = where}}, where);
      document::ObjectReader reader(alone, "hardware", errors_);
      return read(reader, key);
    }
    document::ObjectReader reader(*node, reader_.path_of(key), errors_);
    const auto value = read(reader, "value");
    gpu_.provenance.emplace_back(key, reader.string("source").value_or(std::move(source)));
    reader.finish();
    return value;
  }

  const document::Node& document_;
  document::ObjectReader reader_;
  core::Errors& errors_;
  GpuSpec& gpu_;
};

/// nvidia-smi lets no data-centre GPU be held to much less.
constexpr double kLeastCap = 0.25;

/// Prompts draw a board's limit, so that a cap takes clocks in its own proportion; what waits for
/// memory hardly draws more than a cap leaves. Source: Splitwise's Llama-2-70B on four H100 with
/// and without a cap (github.com/Mutinifni/splitwise-sim, data/perf_model.csv): prompts take 1.30
/// times as long at all lengths, tokens as long as before.
void hold_to_cap(GpuSpec& gpu) {
  const double share = gpu.power_cap / gpu.power_watts;
  for (core::FlopsPerSecond GpuSpec::* const peak :
       {&GpuSpec::peak_bf16, &GpuSpec::peak_fp8, &GpuSpec::peak_int8, &GpuSpec::peak_fp4}) {
    gpu.*peak = share * (gpu.*peak);
  }
  gpu.clock_ghz *= share;
}

void read_cap(FactReader& reader, const core::Errors& errors, GpuSpec& gpu) {
  gpu.power_cap = reader.real("power_cap", kWatts);
  const bool is_sound =
      gpu.power_cap >= kLeastCap * gpu.power_watts && gpu.power_cap <= gpu.power_watts;
  if (errors.empty() && !is_sound) {
    reader.problem("power_cap",
                   fmt::format("{} W is not within {} to 1 times power_watts, {} W",
                               gpu.power_cap,
                               kLeastCap,
                               gpu.power_watts));
  } else if (errors.empty()) {
    hold_to_cap(gpu);
  }
}

}  // namespace

core::Result<GpuSpec> gpu_from_node(const document::Node& document, const std::string& name) {
  GpuSpec gpu;
  core::Errors errors;
  FactReader reader(document, errors, gpu);
  if (!document.is_map()) {
    return core::fail(std::move(errors));
  }
  gpu.name = reader.optional_text("name").value_or(name);
  gpu.full_name = reader.optional_text("full_name").value_or(gpu.name);
  gpu.architecture = reader.text("architecture");
  gpu.base = reader.optional_text("base").value_or("");
  reader.skip("aliases");
  gpu.peak_bf16 = core::FlopsPerSecond(reader.quantity("peak_bf16", kFlops));
  gpu.peak_fp8 = core::FlopsPerSecond(reader.optional_quantity("peak_fp8", kFlops));
  gpu.peak_int8 = core::FlopsPerSecond(reader.optional_quantity("peak_int8", kFlops));
  gpu.peak_fp4 = core::FlopsPerSecond(reader.optional_quantity("peak_fp4", kFlops));
  gpu.mem_bandwidth = core::BytesPerSecond(reader.quantity("mem_bandwidth", kRate));
  gpu.memory = core::Bytes(reader.quantity("memory", kSize));
  gpu.usable_memory = core::Bytes(reader.quantity("usable_memory", kSize));
  gpu.l2_cache = core::Bytes(reader.quantity("l2_cache", kSize));
  gpu.num_sms = reader.integer("num_sms", kSms);
  gpu.clock_ghz = reader.real("clock_ghz", kClockGhz);
  gpu.link_bandwidth = core::BytesPerSecond(reader.quantity("link_bandwidth", kRate));
  gpu.has_nvlink = reader.flag("has_nvlink");
  if (reader.states("gpus_per_node")) {
    gpu.gpus_per_node = reader.integer("gpus_per_node", kGpusPerNode);
  }
  gpu.link_domain = gpu.gpus_per_node;
  if (reader.states("link_domain")) {
    gpu.link_domain = reader.integer("link_domain", kGpusPerNode);
  }
  gpu.pcie_bandwidth = kPcie4;
  if (reader.states("pcie_bandwidth")) {
    gpu.pcie_bandwidth = core::BytesPerSecond(reader.quantity("pcie_bandwidth", kRate));
  }
  gpu.network_bandwidth =
      core::BytesPerSecond(reader.optional_quantity("network_bandwidth", kRate));
  if (reader.states("power_watts")) {
    gpu.power_watts = reader.real("power_watts", kWatts);
  }
  if (reader.states("power_cap")) {
    read_cap(reader, errors, gpu);
  }
  if (reader.states("datasheet_only")) {
    gpu.datasheet_only = reader.flag("datasheet_only");
  }
  if (errors.empty() && gpu.usable_memory > gpu.memory) {
    reader.problem("usable_memory",
                   fmt::format("{:.2f} GiB is more than memory, {:.2f} GiB",
                               core::as_gibibytes(gpu.usable_memory),
                               core::as_gibibytes(gpu.memory)));
  }
  reader.finish();
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return gpu;
}

}  // namespace ridgeline::hardware
