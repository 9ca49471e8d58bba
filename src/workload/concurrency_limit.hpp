#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/ring.hpp"
#include "core/statistics/queue_growth.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "workload/source.hpp"

namespace ridgeline::workload {

/// Requests that arrive on a schedule, of which at most so many are in flight: the others wait at
/// the client, in order, and are sent when a place is free, as --request-rate beside
/// --max-concurrency of `vllm bench serve`. A request arrives when it is sent. Memory follows the
/// limit.
class ConcurrencyLimit final : public Source {
 public:
  /// `max_concurrency` >= 1; no request is sent at `end` or later. `source` is no closed loop.
  ConcurrencyLimit(std::unique_ptr<Source> source, std::int64_t max_concurrency, core::SimTime end);

  std::optional<core::SimTime> next_arrival() override;
  domain::Request pop() override;
  [[nodiscard]] bool is_closed_loop() const override { return true; }
  void on_completion(core::RequestId id, core::SimTime time) override;
  [[nodiscard]] const core::Errors& errors() const override { return source_->errors(); }
  [[nodiscard]] core::Warnings warnings() const override { return source_->warnings(); }
  [[nodiscard]] std::optional<std::int64_t> size() const override { return source_->size(); }
  [[nodiscard]] const statistics::QueueGrowth* held_back() const override { return &queue_; }

 private:
  std::unique_ptr<Source> source_;
  core::SimTime end_;
  std::int64_t unused_;              ///< Places that no request has had yet.
  statistics::QueueGrowth queue_;    ///< From the scheduled time to the time of sending.
  core::Ring<core::SimTime> freed_;  ///< When places became free, ascending.
};

}  // namespace ridgeline::workload
