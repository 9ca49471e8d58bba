#include "workload/request_maker.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "workload/limits.hpp"
#include "workload/options.hpp"

namespace ridgeline::workload {

RequestMaker::RequestMaker(const SyntheticOptions& options)
    : input_(options.input_len, options.seed, options.replication, "input_len"),
      output_(options.output_len, options.seed, options.replication, "output_len"),
      counted_(options.num_prompts.has_value()),
      limit_(options.num_prompts.value_or(kMaxRequests)),
      end_(options.duration ? core::SimTime::at(*options.duration) : core::SimTime::never()),
      size_(options.duration ? std::nullopt : options.num_prompts) {
  if (options.prefix) {
    prefix_.emplace(*options.prefix, options.seed, options.replication);
  }
}

void RequestMaker::make(core::SimTime arrival, domain::Request& request) {
  RIDGELINE_CHECK(wants(arrival), "a request beyond the end of the workload");
  request.id = core::RequestId(static_cast<core::RequestId::Rep>(count_++));
  request.arrival = arrival;
  request.prompt_tokens = input_.draw();
  request.output_tokens = output_.draw();
  request.max_tokens = request.output_tokens;
  request.priority = 0;
  request.lora = {};
  request.session = {};
  request.prompt.clear();
  if (prefix_) {
    request.prompt.push_back(prefix_->draw());
    request.prompt_tokens += request.prompt.front().length;
  }
  if (count_ == kMaxRequests && !counted_) [[unlikely]] {
    note_overrun("the number of request ids");
  }
}

void RequestMaker::note_overrun(std::string_view limit) {
  if (!errors_.empty()) {
    return;
  }
  core::Error error;
  error.field = "workload";
  error.message =
      fmt::format("found {} requests and more to come past {}, expected the workload to end before",
                  count_,
                  limit);
  error.hint = "lower num_prompts or duration, or change request_rate";
  errors_.push_back(std::move(error));
}

}  // namespace ridgeline::workload
