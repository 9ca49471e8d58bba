#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "workload/lengths.hpp"
#include "workload/options.hpp"
#include "workload/prefixes.hpp"

namespace ridgeline::workload {

/// What open and closed loops have in common: numbers the requests of a synthetic workload, draws
/// what they hold, and knows when it ends. Request n holds the same whenever it arrives.
class RequestMaker {
 public:
  /// `options` are sound (check_options).
  explicit RequestMaker(const SyntheticOptions& options);

  /// Whether the workload still has a request at this time.
  [[nodiscard]] bool wants(core::SimTime arrival) const {
    return count_ < limit_ && arrival < end_;
  }
  /// The next request. Requires wants(arrival).
  domain::Request make(core::SimTime arrival) {
    domain::Request request;
    make(arrival, request);
    return request;
  }
  /// The same into `request`, whatever that held.
  void make(core::SimTime arrival, domain::Request& request);

  /// Notes that the workload goes on past what can be represented, once.
  void note_overrun(std::string_view limit);
  [[nodiscard]] const core::Errors& errors() const { return errors_; }
  /// How many requests there will be in all, when known.
  [[nodiscard]] std::optional<std::int64_t> size() const { return size_; }

 private:
  LengthSampler input_;
  LengthSampler output_;
  std::optional<PrefixSampler> prefix_;
  bool counted_;
  std::int64_t limit_;
  core::SimTime end_;
  std::optional<std::int64_t> size_;
  std::int64_t count_ = 0;
  core::Errors errors_;
};

}  // namespace ridgeline::workload
