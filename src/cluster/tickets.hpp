#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cluster/part.hpp"
#include "core/id_table.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"

namespace ridgeline::cluster {

/// The tickets of the requests in a cluster, by id. Ids grow with the arrivals.
class Tickets {
 public:
  [[nodiscard]] bool empty() const { return tickets_.empty(); }
  [[nodiscard]] std::size_t size() const { return tickets_.size(); }

  /// The ticket of a request; null where there is none.
  [[nodiscard]] Ticket* find(core::RequestId id) { return tickets_.find(id.value()); }

  /// As core::IdTable::fetch_line(): what is read first of a ticket.
  void fetch_line(core::RequestId id) { tickets_.fetch_line(id.value()); }
  /// The ticket of a request that has none yet. Ticket::request is to be assigned.
  Ticket& add(core::RequestId id, core::SimTime arrival) {
    Ticket& ticket = tickets_.add(id.value());
    ticket.counted = {};
    ticket.arrival = arrival;
    ticket.dispatches = 0;
    ticket.is_counted = false;
    ticket.is_delivered = false;
    ticket.first_token_seen = false;
    ticket.is_failing = false;
    ticket.is_refused = false;
    ticket.has_answer = false;
    ticket.computed_apart = {};
    ticket.gateway_wait = {};
    return ticket;
  }

  void erase(core::RequestId id) { tickets_.erase(id.value()); }

  /// The ids of all, in ascending order.
  [[nodiscard]] std::vector<core::RequestId> ids() {
    std::vector<core::RequestId> all;
    tickets_.for_each([&](std::uint64_t id, const Ticket& /*ticket*/) {
      all.emplace_back(static_cast<core::RequestId::Rep>(id));
    });
    return all;
  }

 private:
  core::IdTable<Ticket> tickets_;
};

/// The record of a request that ends at no instance.
inline domain::RequestRecord unserved(const domain::Request& request,
                                      domain::Outcome outcome,
                                      core::SimTime at) {
  domain::RequestRecord record;
  record.id = request.id;
  record.label_set = request.label_set;
  record.outcome = outcome;
  record.prompt_tokens = request.prompt_tokens;
  record.arrival = request.arrival;
  record.queued = at;
  return record;
}

}  // namespace ridgeline::cluster
