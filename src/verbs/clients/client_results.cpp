#include "verbs/clients/client_results.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "document/reader.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/summary.hpp"
#include "scenario/rank_share.hpp"
#include "verbs/clients/client_files.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {

void ClientResults::on_request(const domain::RequestRecord& record,
                               const metrics::RequestMetrics& metrics) {
  Row row;
  row.id = record.id;
  row.outcome = record.outcome;
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

void ClientResults::add(Row row, std::vector<double> gaps) {
  row.gaps = gaps_.size();
  gaps_.push_back(std::move(gaps));
  rows_.push_back(row);
}

void ClientResults::leave_out_before(double seconds) {
  std::erase_if(rows_, [seconds](const Row& row) { return row.start < seconds; });
}

void ClientResults::put_in_order() {
  std::ranges::sort(rows_, {}, &Row::id);
}

void ClientResults::stand_for_all(const scenario::RankShare& share,
                                  std::optional<std::int64_t> requests) {
  std::vector<Row> all;
  const auto rows = static_cast<std::int64_t>(rows_.size());
  for (std::int64_t n = 0; n < rows; ++n) {
    const std::int64_t next = share.number(n + 1);
    const std::int64_t end = std::min(next, requests.value_or(next));
    for (std::int64_t number = share.number(n); number < end; ++number) {
      all.push_back(rows_[static_cast<std::size_t>(n)]);
    }
  }
  rows_ = std::move(all);
}

std::vector<double> ClientResults::gaps_of(const Row& row) const {
  if (row.gaps) {
    return gaps_[*row.gaps];
  }
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

RunResult seen_by_client(const RunResult& result, const ClientResults& results) {
  RunResult seen = result;
  if (!result.deployment) {
    return seen;
  }
  metrics::Summary& summary = seen.summary;
  summary.completed = 0;
  summary.by_outcome = {};
  summary.total_input_tokens = 0;
  summary.total_output_tokens = 0;
  for (const auto& row : results.rows()) {
    ++summary.by_outcome[static_cast<std::size_t>(row.outcome)];
    if (row.completed) {
      ++summary.completed;
      summary.total_input_tokens += row.input_tokens;
      summary.total_output_tokens += row.output_tokens;
    }
  }
  if (result.summary.completed == 0) {
    return seen;
  }
  const double times =
      static_cast<double>(summary.completed) / static_cast<double>(result.summary.completed);
  const auto per_second = [&](std::int64_t number, std::optional<double>& rate) {
    if (rate && summary.duration_s) {
      rate = static_cast<double>(number) / *summary.duration_s;
    }
  };
  per_second(summary.completed, summary.request_throughput);
  per_second(summary.total_output_tokens, summary.output_throughput);
  per_second(summary.total_input_tokens + summary.total_output_tokens,
             summary.total_token_throughput);
  if (summary.goodput) {
    summary.goodput = *summary.goodput * times;
  }
  return seen;
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
  const auto near = document::nearest(name, names);
  return core::fail(core::Error{
      .field = "--client-results",
      .message =
          fmt::format("unknown client '{}', expected one of {}", name, fmt::join(names, ", ")),
      .where = {.file = "command line"},
      .hint = near ? fmt::format("did you mean '{}'?", *near) : std::string()});
}

}  // namespace ridgeline::verbs
