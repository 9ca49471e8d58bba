#include "verbs/clients/sent_workload.hpp"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "observe/earlier.hpp"
#include "scenario/requests.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::verbs {

core::Result<SentWorkload> open_sent_workload(const scenario::WorkloadSection& stated,
                                              std::int64_t seed,
                                              std::int64_t max_rate) {
  if (!stated.trace && !stated.num_prompts && !stated.duration) {
    return core::fail(core::Error{.field = "workload",
                                  .message = "no end is stated, and a server is loaded by it",
                                  .where = {.file = "command line"},
                                  .hint = "--num-prompts 1000, or --duration 5m"});
  }
  const double rate = stated.request_rate.value_or(0.0);
  if (rate > static_cast<double>(max_rate)) {
    return core::fail(core::Error{
        .field = "workload.request_rate",
        .message = fmt::format("{} requests/s, expected at most {}", rate, max_rate),
        .where = {.file = "command line"},
        .hint = fmt::format("--max-rate {:.0f}, if the server is yours to load", rate)});
  }
  SentWorkload sent{.workload = {.section = stated, .seed = seed}};
  scenario::fill_workload(sent.workload.section);
  auto source = sent.workload.open();
  auto twin = sent.workload.open();  // That is used up for the digest.
  if (!source || !twin) {
    return core::fail(source ? twin.error() : source.error());
  }
  sent.source = std::move(*source);
  sent.digest = observe::workload_digest(**twin);
  return sent;
}

}  // namespace ridgeline::verbs
