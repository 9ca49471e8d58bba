#include "scenario/sections/kv_transfer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cluster/disaggregation/registry.hpp"
#include "cluster/link/kv_link.hpp"
#include "cluster/link/presets.hpp"
#include "core/result.hpp"
#include "document/reader.hpp"
#include "routing/router.hpp"
#include "scenario/findings.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/faults.hpp"
#include "scenario/sections/router.hpp"
#include "scenario/sections/sections.hpp"

namespace ridgeline::scenario {
namespace {

constexpr double kMaxInstancesPerHost = 64;
constexpr double kMostNeighbours = 4096;  ///< As many as a cluster has instances.
constexpr std::string_view kHostSize = "cluster.kv_transfer.instances_per_host";
constexpr std::string_view kCardBandwidth = "cluster.kv_transfer.transfer_bandwidth";
constexpr std::string_view kInsideHost = "cluster.kv_transfer.host_bandwidth";
constexpr std::string_view kFabricBandwidth = "cluster.kv_transfer.fabric_bandwidth";
/// A 400 Gb/s port moves 49.5 of its 50 GB/s (llm-d's networking post of 2026-06-23).
constexpr std::string_view kDefaultCard = "50GB/s";
constexpr std::string_view kLink = "cluster.kv_transfer.transfer_link";
/// Those of link::kLinkPresets.
constexpr std::array<std::string_view, 2> kLinks = {"rdma", "rdma-pull"};
constexpr std::string_view kNetworkCards = "cluster.kv_transfer.network_cards";
constexpr std::array<std::string_view, 2> kCardOwners = {"host", "gpu"};
constexpr std::array<std::string_view, 1> kConnectors = {"nixl"};
constexpr std::array<std::string_view, 2> kSharings = {"max-min", "fifo"};
/// In the order of disaggregation::TransferMode.
constexpr std::array<std::string_view, 3> kTransferModes = {"after-prefill", "push", "layer-wise"};
constexpr std::array<std::string_view, 2> kLoadFailures = {"fail", "recompute"};

// clang-format off
constexpr auto kKvTransferOptions = std::to_array<Option>({
    {.path = "cluster.kv_transfer.kv_connector", .flag = "kv-connector", .choices = kConnectors, .unset = "nixl",
     .help = "What moves KV", .example = "nixl",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_transfer.kv_connector; }},
    {.path = kLink, .flag = "transfer-link", .choices = kLinks, .unset = "none; rdma with a card for each GPU",
     .help = "Measured times of a link: KV sent over RDMA, or a prefix read from another instance", .example = "rdma",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_transfer.transfer_link; }},
    {.path = kCardBandwidth, .flag = "transfer-bandwidth", .unset = "of the link, else 50GB/s",
     .help = "Of a network card, each way, with its unit", .example = "12.5GB/s",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_transfer.transfer_bandwidth; }},
    {.path = kFabricBandwidth, .flag = "fabric-bandwidth", .unset = "no limit",
     .help = "Of all transfers together, with its unit", .example = "200GB/s",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_transfer.fabric_bandwidth; }},
    {.path = kInsideHost, .flag = "host-bandwidth", .unset = "through the network card",
     .help = "Between the instances of one host, all together, with its unit", .example = "450GB/s",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_transfer.host_bandwidth; }},
    {.path = kHostSize, .flag = "instances-per-host",
     .lowest = 1, .highest = kMaxInstancesPerHost, .unset = "1",
     .help = "Instances that share a network card, neighbours by number", .example = "8",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_transfer.instances_per_host; }},
    {.path = "cluster.kv_transfer.hosts_per_rack", .flag = "hosts-per-rack",
     .lowest = 1, .highest = kMostNeighbours, .unset = "racks are not known",
     .help = "Hosts that share a rack, neighbours by number, for topology-affinity-scorer", .example = "4",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_transfer.hosts_per_rack; }},
    {.path = "cluster.kv_transfer.racks_per_zone", .flag = "racks-per-zone",
     .lowest = 1, .highest = kMostNeighbours, .unset = "zones are not known",
     .help = "Racks that share a zone", .example = "8",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_transfer.racks_per_zone; }},
    {.path = "cluster.kv_transfer.zones_per_region", .flag = "zones-per-region",
     .lowest = 1, .highest = kMostNeighbours, .unset = "regions are not known",
     .help = "Zones that share a region", .example = "3",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_transfer.zones_per_region; }},
    {.path = kNetworkCards, .flag = "network-cards", .choices = kCardOwners, .unset = "host; with a link, gpu",
     .help = "What has a network card of that bandwidth: each host, or each GPU", .example = "gpu",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_transfer.network_cards; }},
    {.path = "cluster.kv_transfer.transfer_setup", .flag = "transfer-setup", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "of the link, else 2ms",
     .help = "From blocks on the decode instance to the first byte", .example = "1ms",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_transfer.transfer_setup; }},
    {.path = "cluster.kv_transfer.transfer_block_time", .flag = "transfer-block-time", .unit = "s",
     .lowest = 0, .highest = 1, .unset = "of the link, else 0s",
     .help = "More of that for each block", .example = "1us",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_transfer.transfer_block_time; }},
    {.path = "cluster.kv_transfer.sharing", .flag = "sharing", .choices = kSharings, .unset = "max-min",
     .help = "How transfers share a wire: fairly at once, or one after the other", .example = "fifo",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_transfer.sharing; }},
    {.path = "cluster.kv_transfer.transfer_mode", .flag = "transfer-mode", .choices = kTransferModes, .unset = "the system's own: after-prefill, of sglang push",
     .help = "When KV is sent: read after the prefill, written after it, or layer by layer beside it", .example = "layer-wise",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_transfer.transfer_mode; }},
    {.path = "cluster.kv_transfer.kv_load_failure_policy", .flag = "kv-load-failure-policy", .choices = kLoadFailures, .unset = "fail",
     .help = "What becomes of a request whose KV is gone before it was sent", .example = "recompute",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_transfer.kv_load_failure_policy; }},
    {.path = "cluster.kv_transfer.kv_lease", .flag = "kv-lease", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "30s",
     .help = "How long a prompt's blocks wait on the prefill instance for their transfer to start", .example = "60s",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_transfer.kv_lease; }},
});
// clang-format on

core::Result<std::int64_t> bandwidth(std::string_view path, const std::string& text) {
  const auto refuse = [&](std::string message, std::string hint = {}) {
    return core::fail(core::Error{
        .field = std::string(path),
        .message = std::move(message),
        .hint = hint.empty() ? fmt::format("with a unit: {}", kDefaultCard) : std::move(hint)});
  };
  if (text.find_first_not_of("0123456789.eE+-") == std::string::npos) {
    return refuse(fmt::format("found {}, expected a rate with its unit", text));
  }
  const auto parsed = document::parse_quantity(text, "bytes_per_second");
  if (!parsed) {
    return refuse(parsed.error().front().message, parsed.error().front().hint);
  }
  constexpr double kMost = 1e15;  // A picosecond for a kilobyte.
  if (!(*parsed >= static_cast<double>(link::KvLink::kLeastCapacity) && *parsed <= kMost)) {
    return refuse(fmt::format("found {}, expected 1MB/s to 1000TB/s", text));
  }
  return std::llround(*parsed);
}

/// Racks of hosts, zones of racks, regions of zones: for a scorer that reads them.
void check_levels(const KvTransferSection& section, bool are_read, Findings& findings) {
  struct Level {
    const std::optional<std::int64_t>& number;
    std::string_view path;
  };
  const std::array<Level, 3> levels = {
      Level{section.hosts_per_rack, "cluster.kv_transfer.hosts_per_rack"},
      Level{section.racks_per_zone, "cluster.kv_transfer.racks_per_zone"},
      Level{section.zones_per_region, "cluster.kv_transfer.zones_per_region"}};
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i].number && !are_read) {
      findings.ignored(levels[i].path, "no topology-affinity-scorer reads it");
    } else if (levels[i].number && i > 0 && !levels[i - 1].number) {
      findings.problem(levels[i].path,
                       fmt::format("given without {}", levels[i - 1].path),
                       "each level is counted in the one below it");
    }
  }
}

}  // namespace

std::span<const Option> kv_transfer_options() {
  return kKvTransferOptions;
}

namespace {

/// The measured link that the section names or, with a card for each GPU, RDMA; else nullptr.
const link::LinkPreset* link_of(const KvTransferSection& section) {
  if (!section.transfer_link) {
    return section.network_cards == kCardOwners.back() ? link::kLinkPresets.data() : nullptr;
  }
  const auto* const found =
      std::ranges::find(link::kLinkPresets, *section.transfer_link, &link::LinkPreset::name);
  return found == link::kLinkPresets.end() ? nullptr : found;
}

}  // namespace

core::Result<KvWires> kv_wires(const KvTransferSection& section, core::Tokens block_size) {
  const link::LinkPreset* const preset = link_of(section);
  KvWires wires{.network_card = preset == nullptr ? 0 : preset->card_bytes_per_second,
                .own_cards = section.network_cards ? section.network_cards == kCardOwners.back()
                                                   : preset != nullptr};
  wires.setup =
      section.transfer_setup.value_or(preset == nullptr ? kDefaultTransferSetup : preset->setup);
  wires.per_block = section.transfer_block_time.value_or(
      preset == nullptr
          ? core::Duration()
          : core::Duration::saturating_product(preset->per_token, block_size.value()));
  if (section.transfer_bandwidth || preset == nullptr) {
    const auto card =
        bandwidth(kCardBandwidth, section.transfer_bandwidth.value_or(std::string(kDefaultCard)));
    if (!card) {
      return core::fail(card.error());
    }
    wires.network_card = *card;
  }
  if (section.fabric_bandwidth) {
    const auto fabric = bandwidth(kFabricBandwidth, *section.fabric_bandwidth);
    if (!fabric) {
      return core::fail(fabric.error());
    }
    wires.fabric = *fabric;
  }
  if (section.host_bandwidth) {
    const auto inside = bandwidth(kInsideHost, *section.host_bandwidth);
    if (!inside) {
      return core::fail(inside.error());
    }
    wires.inside_host = *inside;
  }
  return wires;
}

std::vector<routing::Site> sites_of(const KvTransferSection& section, std::int64_t instances) {
  // Below an unknown level no higher one is known.
  const auto above = [](std::int64_t below, const std::optional<std::int64_t>& number) {
    return number && below >= 0 ? below / *number : -1;
  };
  std::vector<routing::Site> sites;
  for (std::int64_t i = 0; i < instances; ++i) {
    routing::Site& site = sites.emplace_back();
    site.host = i / section.instances_per_host.value_or(1);
    site.rack = above(site.host, section.hosts_per_rack);
    site.zone = above(site.rack, section.racks_per_zone);
    site.region = above(site.zone, section.zones_per_region);
  }
  return sites;
}

disaggregation::TransferMode transfer_mode(const KvTransferSection& section,
                                           disaggregation::TransferMode own) {
  if (!section.transfer_mode) {
    return own;
  }
  const auto* const named = std::ranges::find(kTransferModes, *section.transfer_mode);
  return static_cast<disaggregation::TransferMode>(named - kTransferModes.begin());
}

void check_kv_transfer(Findings& findings) {
  const KvTransferSection& section = findings.scenario().run.cluster.kv_transfer;
  const bool are_read = reads_sites(findings.scenario().run.cluster.router);
  check_levels(section, are_read, findings);
  const auto wires = kv_wires(section);
  if (wires && wires->own_cards && findings.given(kHostSize) && !are_read &&
      !section.host_bandwidth && !names_hosts(findings.scenario().run.cluster.faults)) {
    findings.ignored(kHostSize, "each GPU has a network card of its own");
  }
  if (!wires) {
    const core::Error& error = wires.error().front();
    findings.problem(error.field, error.message, error.hint);
  }
}

}  // namespace ridgeline::scenario
