#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"

namespace ridgeline::hardware {

/// Facts of one GPU, from its datasheet. A peak of 0 means that the GPU lacks the format.
struct GpuSpec {
  std::string name;  ///< Catalogue name, e.g. "h100".
  std::string full_name;
  std::string architecture;        ///< "hopper", "ampere", "ada", ...
  std::string base;                ///< The GPU of the catalogue that a file's GPU is like, if any.
  core::FlopsPerSecond peak_bf16;  ///< Dense.
  core::FlopsPerSecond peak_fp8;
  core::FlopsPerSecond peak_int8;
  core::FlopsPerSecond peak_fp4;
  core::BytesPerSecond mem_bandwidth;
  core::Bytes memory;         ///< On the board.
  core::Bytes usable_memory;  ///< As the driver reports it to a process.
  core::Bytes l2_cache;
  std::int64_t num_sms = 0;
  double clock_ghz = 0.0;  ///< Boost clock.
  core::BytesPerSecond
      link_bandwidth;  ///< One direction, to the other GPUs of its NVLink domain or PCIe.
  bool has_nvlink = false;
  std::int64_t gpus_per_node = 8;
  /// GPUs that reach each other at link_bandwidth: a node, a rack of NVLink switches, a bridged
  /// pair.
  std::int64_t link_domain = 8;
  core::BytesPerSecond pcie_bandwidth;  ///< One direction, between GPUs of a node without NVLink.
  core::BytesPerSecond
      network_bandwidth;     ///< One direction and per GPU, to other nodes; 0: unknown.
  double power_watts = 0.0;  ///< Board power limit; 0: unknown.
  /// Below that limit, where the board is held to less: peaks and clock above are those at the cap.
  double power_cap = 0.0;
  /// No measured kernels stand behind what is priced on it or on its relatives: the datasheet is
  /// all.
  bool datasheet_only = false;
  std::vector<std::pair<std::string, std::string>> provenance;  ///< (key, source).

  /// FLOP per byte at which BF16 work turns from memory- to compute-bound.
  [[nodiscard]] double ridge_point() const { return peak_bf16.value() / mem_bandwidth.value(); }
};

/// What carries messages among a number of GPUs.
enum class Link : std::uint8_t { kNvlink, kPcie, kNetwork };
[[nodiscard]] const char* name(Link link);
/// The slowest link that a group of `ranks` neighbouring GPUs needs, and the GPU as seen over it:
/// link_bandwidth and has_nvlink are that link's.
struct LinkView {
  Link link = Link::kNvlink;
  GpuSpec gpu;
};
[[nodiscard]] LinkView over_link(const GpuSpec& gpu, std::int64_t ranks);
/// Whether the bandwidth of that link is known; one GPU needs none.
[[nodiscard]] bool knows_link(const GpuSpec& gpu, std::int64_t ranks);

/// The document that a name means, so that single values can be replaced before gpu_from_node reads
/// it: a catalogue name or market alias ("H100-SXM-80GB", "A100-80", ...) in any case and with '-',
/// '_' or spaces, or else a path to a YAML file. Unknown names give the nearest.
[[nodiscard]] core::Result<document::Node> find_gpu_document(const std::string& name);
/// `changed`, a document whose `memory` is not that of `original`, with as large a share of it
/// usable as there.
[[nodiscard]] document::Node with_usable_share(const document::Node& changed,
                                               const document::Node& original);
/// The facts in such a document, whose keys are the fields of GpuSpec. A value is a number with its
/// unit, or a map {value: ..., source: ...}. Peaks but peak_bf16 may be absent, and so may
/// link_domain (then gpus_per_node), pcie_bandwidth (then PCIe 4.0's 32 GB/s), network_bandwidth,
/// power_watts, power_cap, datasheet_only and base; unknown keys are refused. A file with `base:
/// NAME` takes all facts that it does not state from that GPU of the catalogue; where it states its
/// memory alone, usable_memory is the base's share of it.
[[nodiscard]] core::Result<GpuSpec> gpu_from_node(const document::Node& document,
                                                  const std::string& name);
/// Both: the GPU that a name means.
[[nodiscard]] core::Result<GpuSpec> find_gpu(const std::string& name);
/// Names in the catalogue, sorted.
[[nodiscard]] std::vector<std::string> catalogue_names();
/// The architectures of the catalogue's GPUs, sorted, each once.
[[nodiscard]] const std::vector<std::string>& architectures();

}  // namespace ridgeline::hardware
