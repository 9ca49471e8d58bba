#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/disaggregation/registry.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "routing/router.hpp"

namespace ridgeline::scenario {

/// Section `cluster.kv_transfer`: how KV moves from prefill to decode instances.
struct KvTransferSection {
  std::optional<std::string> kv_connector;
  std::optional<std::string> transfer_link;
  std::optional<std::string> transfer_bandwidth;
  std::optional<std::string> fabric_bandwidth;
  std::optional<std::string> host_bandwidth;
  std::optional<std::int64_t> instances_per_host;
  std::optional<std::int64_t> hosts_per_rack;
  std::optional<std::int64_t> racks_per_zone;
  std::optional<std::int64_t> zones_per_region;
  std::optional<std::string> network_cards;
  std::optional<core::Duration> transfer_setup;
  std::optional<core::Duration> transfer_block_time;
  std::optional<std::string> sharing;
  std::optional<std::string> transfer_mode;
  std::optional<std::string> kv_load_failure_policy;
  std::optional<core::Duration> kv_lease;
};

/// The wires that the section names, in whole bytes per second, and what stands before the first
/// byte; what it leaves open its link says, which is RDMA as measured where GPUs have cards. The
/// field of an error is the option's path.
struct KvWires {
  std::int64_t network_card = 0;
  std::int64_t fabric = 0;       ///< 0: no limit.
  std::int64_t inside_host = 0;  ///< 0: through the card.
  bool own_cards = false;        ///< Each GPU has such a card.
  core::Duration setup = {};
  core::Duration per_block = {};
};
[[nodiscard]] core::Result<KvWires> kv_wires(const KvTransferSection& section,
                                             core::Tokens block_size = core::Tokens(0));

/// Where so many instances stand: neighbours by number share a host, and so on.
[[nodiscard]] std::vector<routing::Site> sites_of(const KvTransferSection& section,
                                                  std::int64_t instances);

/// The mode that the section names, else the system's own.
[[nodiscard]] disaggregation::TransferMode transfer_mode(const KvTransferSection& section,
                                                         disaggregation::TransferMode own);

/// From the moment that a decode instance has blocks to the first byte: a control message and a
/// look-up of metadata. Assumed, where no link is named (link/presets.hpp has measured ones).
inline constexpr core::Duration kDefaultTransferSetup = core::Duration::milliseconds(2);
/// vLLM's NIXL connector, July 2026.
inline constexpr core::Duration kDefaultKvLease = core::Duration::seconds(30);

}  // namespace ridgeline::scenario
