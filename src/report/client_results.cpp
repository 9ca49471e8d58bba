#include "report/client_results.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/reader.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "report/client_files.hpp"

namespace ridgeline::report {

void ClientResults::on_request(const domain::RequestRecord& record,
                               const metrics::RequestMetrics& metrics) {
  Row row;
  row.id = record.id;
  row.start = record.arrival.to_seconds();
  row.completed = metrics::completed(record.outcome) && metrics.ttft && metrics.e2e;
  row.input_tokens = record.prompt_tokens.value();
  row.output_tokens = record.output_tokens.value();
  if (row.completed) {
    row.ttft = metrics.ttft->to_seconds();
    row.last_token = (*metrics.ttft + (record.last_token - record.first_token)).to_seconds();
    row.e2e = metrics.e2e->to_seconds();
    if (metrics.mean_gap) {
      row.mean_gap = metrics.mean_gap->to_seconds();
    }
    row.first_step_end = record.first_token;
    row.last_step_end = record.last_token;
    row.preempted = record.preemptions > 0;
  }
  rows_.push_back(row);
}

void ClientResults::put_in_order() {
  std::ranges::sort(rows_, {}, &Row::id);
}

std::vector<double> ClientResults::gaps_of(const Row& row) const {
  if (!row.mean_gap) {
    return {};
  }
  const auto gaps = static_cast<std::size_t>(row.output_tokens - 1);
  const auto ends = steps_.between(row.first_step_end, row.last_step_end);
  if (row.preempted || ends.empty() || ends.size() > gaps || ends.back() != row.last_step_end) {
    return std::vector<double>(gaps, *row.mean_gap);
  }
  std::vector<double> seconds;
  seconds.reserve(ends.size());
  core::SimTime before = row.first_step_end;
  for (const core::SimTime end : ends) {
    seconds.push_back((end - before).to_seconds());
    before = end;
  }
  return seconds;
}

const std::vector<ClientFormat>& client_formats() {
  static const std::vector<ClientFormat> kFormats = {
      {.name = "vllm-bench",
       .schema = "vllm-bench.schema.json",
       .greedy = true,
       .render = vllm_bench_result},
      {.name = "guidellm", .schema = "guidellm.schema.json", .render = guidellm_result},
      {.name = "inference-perf",
       .schema = "inference-perf.schema.json",
       .render = inference_perf_summary,
       .render_requests = inference_perf_requests},
      {.name = "aiperf",
       .schema = "aiperf.schema.json",
       .render = aiperf_summary,
       .render_requests = aiperf_requests}};
  return kFormats;
}

core::Result<const ClientFormat*> find_client_format(std::string_view name) {
  std::vector<std::string> names;
  for (const ClientFormat& format : client_formats()) {
    if (format.name == name) {
      return &format;
    }
    names.emplace_back(format.name);
  }
  const auto near = core::nearest(name, names);
  return core::fail(core::Error{
      .field = "--client-results",
      .message =
          fmt::format("unknown client '{}', expected one of {}", name, fmt::join(names, ", ")),
      .where = {.file = "command line"},
      .hint = near ? fmt::format("did you mean '{}'?", *near) : std::string()});
}

}  // namespace ridgeline::report
