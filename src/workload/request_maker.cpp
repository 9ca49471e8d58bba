#include "workload/request_maker.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/time.hpp"
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

void RequestMaker::note_overrun(std::string_view limit) {
  if (!errors_.empty()) {
    return;
  }
  core::Error error;
  error.code = core::ErrorCode::kInfeasible;
  error.field = "workload";
  error.message =
      fmt::format("found {} requests and more to come past {}, expected the workload to end before",
                  count_,
                  limit);
  error.hint = "lower num_prompts or duration, or change request_rate";
  errors_.push_back(std::move(error));
}

}  // namespace ridgeline::workload
