#include "workload/concurrency_limit.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "workload/source.hpp"

namespace ridgeline::workload {

ConcurrencyLimit::ConcurrencyLimit(std::unique_ptr<Source> source,
                                   std::int64_t max_concurrency,
                                   core::SimTime end)
    : source_(std::move(source)), end_(end), unused_(max_concurrency) {
  queue_.start(source_->next_arrival().value_or(core::SimTime()));
}

std::optional<core::SimTime> ConcurrencyLimit::next_arrival() {
  const auto due = source_->next_arrival();
  if (!due || (unused_ == 0 && freed_.empty())) {
    return std::nullopt;
  }
  const core::SimTime time = unused_ > 0 ? *due : std::max(*due, freed_.front());
  return time < end_ ? std::optional(time) : std::nullopt;
}

domain::Request ConcurrencyLimit::pop() {
  const auto time = next_arrival();
  RIDGELINE_CHECK(time.has_value(), "pop while every place is taken or the stream has ended");
  if (unused_ > 0) {
    --unused_;
  } else {
    freed_.pop_front();
  }
  domain::Request request = source_->pop();
  queue_.come(request.arrival);
  queue_.leave(*time);
  request.arrival = *time;
  return request;
}

void ConcurrencyLimit::on_completion(core::RequestId id, core::SimTime time) {
  static_cast<void>(id);
  freed_.push_back(time);
}

}  // namespace ridgeline::workload
