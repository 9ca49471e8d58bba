#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "workload/options.hpp"
#include "workload/request_maker.hpp"
#include "workload/source.hpp"

namespace ridgeline::workload {

/// A fixed number of users; each waits for an answer, thinks, and sends again. Memory follows the
/// number of users.
class ClosedLoopSource final : public Source {
 public:
  /// `options` are sound (check_options); `loop` is their closed loop.
  ClosedLoopSource(const SyntheticOptions& options, const ClosedLoop& loop);

  std::optional<core::SimTime> next_arrival() override;
  domain::Request pop() override;
  [[nodiscard]] bool is_closed_loop() const override { return true; }
  void on_completion(core::RequestId id, core::SimTime time) override;
  [[nodiscard]] const core::Errors& errors() const override { return maker_.errors(); }
  [[nodiscard]] std::optional<std::int64_t> size() const override { return maker_.size(); }

 private:
  /// The time for which a user thinks after the answer to this request: the same whatever the
  /// engine does.
  [[nodiscard]] core::Duration think_time(core::RequestId id) const;

  RequestMaker maker_;
  ThinkTime think_;
  std::uint64_t seed_;
  std::uint64_t replication_;
  std::int64_t in_flight_ = 0;
  /// When each thinking user will send: a heap with the earliest in front.
  std::vector<core::SimTime> sends_;
};

}  // namespace ridgeline::workload
