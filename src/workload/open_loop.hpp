#pragma once

#include <cstdint>
#include <optional>

#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "workload/arrivals.hpp"
#include "workload/options.hpp"
#include "workload/request_maker.hpp"
#include "workload/source.hpp"

namespace ridgeline::workload {

/// Requests that arrive on a schedule of their own, whatever becomes of them.
class OpenLoopSource final : public Source {
 public:
  /// `options` are sound (check_options) and not a closed loop.
  explicit OpenLoopSource(const SyntheticOptions& options);

  std::optional<core::SimTime> next_arrival() override {
    return has_next_ ? std::optional(arrivals_.time()) : std::nullopt;
  }
  domain::Request pop() override {
    domain::Request request;
    pop_into(request);
    return request;
  }
  void pop_into(domain::Request& request) override;
  [[nodiscard]] const core::Errors& errors() const override { return maker_.errors(); }
  [[nodiscard]] std::optional<std::int64_t> size() const override { return maker_.size(); }

 private:
  void advance();

  ArrivalTimes arrivals_;
  RequestMaker maker_;
  bool has_next_ = false;
};

}  // namespace ridgeline::workload
