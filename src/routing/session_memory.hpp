#pragma once

#include <cstdint>

#include "core/id_table.hpp"
#include "core/ids.hpp"

namespace ridgeline::routing {

/// Where the last request of each session was sent.
class SessionMemory {
 public:
  /// The id of nothing where the session has not been served, or its instance is gone.
  [[nodiscard]] core::InstanceId served(core::SessionId session) {
    const core::InstanceId* const found =
        session.valid() ? instances_.find(session.value()) : nullptr;
    return found == nullptr ? core::InstanceId() : *found;
  }
  /// A request without a session is not remembered.
  void on_dispatch(core::SessionId session, core::InstanceId instance) {
    if (!session.valid()) {
      return;
    }
    core::InstanceId* const found = instances_.find(session.value());
    (found == nullptr ? instances_.add(session.value()) : *found) = instance;
  }
  void on_gone(core::InstanceId instance) {
    instances_.for_each([instance](std::uint64_t /*session*/, core::InstanceId& served) {
      served = served == instance ? core::InstanceId() : served;
    });
  }

 private:
  core::IdTable<core::InstanceId> instances_;
};

}  // namespace ridgeline::routing
