#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/ids.hpp"
#include "link/kv_link.hpp"

namespace ridgeline::link {

/// The wires between instances: each host has a network card that sends and receives at once at
/// this rate, and all hosts hang on one fabric.
struct Topology {
  std::int64_t network_card = 0;  ///< Bytes per second, each way.
  std::int64_t fabric = 0;        ///< Bytes per second of all together; 0: it is never the limit.
  std::int64_t instances_per_host = 1;
  /// By instance, how many such cards it has for itself, in place of a host's: one for each GPU. A
  /// transfer uses as many pairs as the side with fewer has.
  std::vector<std::int64_t> own_cards = {};

  /// Of each wire: the fabric, where it has a limit, and then two per host, or per instance.
  [[nodiscard]] std::vector<std::int64_t> capacities(std::int64_t instances) const {
    const std::int64_t hosts =
        own_cards.empty() ? (instances + instances_per_host - 1) / instances_per_host : instances;
    std::vector<std::int64_t> all(static_cast<std::size_t>(first_card() + 2 * hosts), network_card);
    for (std::size_t i = 0; i < own_cards.size(); ++i) {
      const std::size_t place = static_cast<std::size_t>(first_card()) + 2 * i;
      all[place] = all[place + 1] = network_card * own_cards[i];
    }
    if (fabric > 0) {
      all.front() = fabric;
    }
    return all;
  }

  /// The sender's card, the receiver's, and the fabric. Two instances of one host talk through
  /// their card as well.
  [[nodiscard]] Route route(core::InstanceId from, core::InstanceId to) const {
    Route wires = {card(from, 0), card(to, 1)};
    if (fabric > 0) {
      wires.emplace_back(0);
    }
    return wires;
  }

  /// The cards of a host, or of its instances; of none: the fabric, where it has a limit.
  [[nodiscard]] Route wires_of(std::optional<std::int64_t> host) const {
    Route wires;
    if (!host && fabric > 0) {
      wires.emplace_back(0);
    } else if (host) {
      const std::int64_t each = own_cards.empty() ? 1 : instances_per_host;
      const std::int64_t first = 2 * *host * each;
      const std::int64_t end =
          own_cards.empty()
              ? first + 2
              : std::min(first + 2 * each, 2 * static_cast<std::int64_t>(own_cards.size()));
      for (std::int64_t wire = first; wire < end; ++wire) {
        wires.emplace_back(static_cast<WireId::Rep>(first_card() + wire));
      }
    }
    return wires;
  }

 private:
  [[nodiscard]] std::int64_t first_card() const { return fabric > 0 ? 1 : 0; }
  [[nodiscard]] WireId card(core::InstanceId instance, std::int64_t direction) const {
    const std::int64_t host =
        std::int64_t{instance.value()} / (own_cards.empty() ? instances_per_host : 1);
    return WireId(static_cast<WireId::Rep>(first_card() + 2 * host + direction));
  }
};

}  // namespace ridgeline::link
