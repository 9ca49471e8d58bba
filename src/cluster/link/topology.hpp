#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cluster/link/kv_link.hpp"
#include "core/ids.hpp"

namespace ridgeline::link {

/// The wires between instances: each host has a network card that sends and receives at once at
/// this rate, and all hosts hang on one fabric.
struct Topology {
  std::int64_t network_card = 0;  ///< Bytes per second, each way.
  std::int64_t fabric = 0;        ///< Bytes per second of all together; 0: it is never the limit.
  std::int64_t instances_per_host = 1;
  /// Bytes per second between the instances of one host, all together; 0: they talk through their
  /// network card as well.
  std::int64_t inside_host = 0;
  /// By instance, how many such cards it has for itself, in place of a host's: one for each GPU. A
  /// transfer uses as many pairs as the side with fewer has.
  std::vector<std::int64_t> own_cards = {};

  /// Capacity of each wire: the fabric, where it has a limit, and then by host, or by instance: the
  /// card's two, and that inside the host, where there is one. With own cards the first instance of
  /// a host has that wire for all.
  [[nodiscard]] std::vector<std::int64_t> capacities(std::int64_t instances) const {
    const std::int64_t hosts =
        own_cards.empty() ? (instances + instances_per_host - 1) / instances_per_host : instances;
    std::vector<std::int64_t> all;
    if (fabric > 0) {
      all.push_back(fabric);
    }
    for (std::int64_t place = 0; place < hosts; ++place) {
      const std::int64_t cards = own_cards.empty() ? 1 : own_cards[static_cast<std::size_t>(place)];
      all.insert(all.end(), 2, network_card * cards);
      if (inside_host > 0) {
        all.push_back(inside_host);
      }
    }
    return all;
  }

  /// The sender's card, the receiver's, and the fabric; inside a host its own wire, where it has
  /// one.
  [[nodiscard]] Route route(core::InstanceId from, core::InstanceId to) const {
    if (inside_host > 0 && host_of(from) == host_of(to)) {
      const std::int64_t place =
          own_cards.empty() ? host_of(from) : host_of(from) * instances_per_host;
      return {WireId(static_cast<WireId::Rep>(first_card() + wires_per_place() * place + 2))};
    }
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
      const std::int64_t first = *host * each;
      const std::int64_t end =
          own_cards.empty() ? first + 1
                            : std::min(first + each, static_cast<std::int64_t>(own_cards.size()));
      for (std::int64_t place = first; place < end; ++place) {
        for (std::int64_t direction = 0; direction < 2; ++direction) {
          const std::int64_t wire = first_card() + wires_per_place() * place + direction;
          wires.emplace_back(static_cast<WireId::Rep>(wire));
        }
      }
    }
    return wires;
  }

 private:
  [[nodiscard]] std::int64_t first_card() const { return fabric > 0 ? 1 : 0; }
  [[nodiscard]] std::int64_t wires_per_place() const { return inside_host > 0 ? 3 : 2; }
  [[nodiscard]] std::int64_t host_of(core::InstanceId instance) const {
    return std::int64_t{instance.value()} / instances_per_host;
  }
  [[nodiscard]] WireId card(core::InstanceId instance, std::int64_t direction) const {
    const std::int64_t place =
        own_cards.empty() ? host_of(instance) : std::int64_t{instance.value()};
    return WireId(static_cast<WireId::Rep>(first_card() + wires_per_place() * place + direction));
  }
};

}  // namespace ridgeline::link
