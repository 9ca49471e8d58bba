#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "workload/lengths.hpp"
#include "workload/limits.hpp"
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
  /// Makes the request in `request`, whatever that held.
  void make(core::SimTime arrival, domain::Request& request) {
    RIDGELINE_CHECK(wants(arrival), "a request beyond the end of the workload");
    request.id = core::RequestId(static_cast<core::RequestId::Rep>(count_++));
    request.arrival = arrival;
    request.prompt_tokens = input_.draw();
    request.output_tokens = output_.draw();
    request.max_tokens = request.output_tokens;
    request.priority = 0;
    request.lora = {};
    request.session = {};
    request.turn = 0;
    request.label_set = {};
    request.images = 0;
    request.gives_up = core::SimTime::never();
    request.prompt.clear();
    if (prefix_) {
      request.prompt.push_back(prefix_->draw());
      request.prompt_tokens += request.prompt.front().length;
    }
    if (count_ == kMaxRequests && !counted_) [[unlikely]] {
      note_overrun("the number of request ids");
    }
  }

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
