#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"

namespace ridgeline::engine {

/// What a scheduler probe may offer besides SchedulerProbe: KV that another engine sends over time,
/// and which of the two queues a waiting request stands in.
class ProbeExtras {
 public:
  virtual ~ProbeExtras() = default;

  /// Adds a request whose first `tokens` prompt tokens are to be loaded: it gets its blocks, waits
  /// for the KV without taking part, and then computes the rest.
  virtual void add_loading(const domain::Request& request, core::Tokens tokens) = 0;
  /// Requests whose KV is on the way, in order of their ids.
  [[nodiscard]] virtual std::vector<core::RequestId> loading() const = 0;
  /// The KV of one of them is there, also when it was aborted meanwhile.
  virtual void finish_load(core::RequestId id) = 0;
  /// How many of SchedulerProbe::waiting() stand in the queue of those passed over: its first ones.
  [[nodiscard]] virtual std::int64_t num_passed_over() const = 0;
};

}  // namespace ridgeline::engine
