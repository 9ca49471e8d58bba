#include "api/tables.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/summary.hpp"
#include "ridgeline.h"
#include "verbs/run.hpp"

namespace ridgeline::api {
namespace {

constexpr std::int64_t kNone = -1;

std::int64_t instant(core::SimTime time) {
  return time == core::SimTime::never() ? kNone : time.count();
}

std::int64_t ticks(const std::optional<core::Duration>& time) {
  return time ? time->count() : kNone;
}

void to_milliseconds(const std::vector<std::int64_t>& from, std::vector<double>& to) {
  to.reserve(from.size());
  for (const std::int64_t count : from) {
    to.push_back(count == kNone ? std::numeric_limits<double>::quiet_NaN()
                                : core::Duration::ticks(count).to_milliseconds());
  }
}

/// Counts of tokens are below 2^31 (the option table's limits).
std::int32_t small(std::int64_t count) {
  return static_cast<std::int32_t>(count);
}

}  // namespace

void RequestTable::add_request(const domain::RequestRecord& record,
                               const metrics::RequestMetrics& metrics) {
  ++rows_;
  id_.push_back(static_cast<std::int64_t>(record.id.value()));
  instance_.push_back(record.instance.valid() ? static_cast<std::int32_t>(record.instance.value())
                                              : -1);
  prompt_tokens_.push_back(small(record.prompt_tokens.value()));
  output_tokens_.push_back(small(record.output_tokens.value()));
  cached_tokens_.push_back(small(record.cached_tokens.value()));
  preemptions_.push_back(record.preemptions);
  outcome_.push_back(static_cast<std::uint8_t>(record.outcome));
  arrival_.push_back(instant(record.arrival));
  queued_.push_back(instant(record.queued));
  first_scheduled_.push_back(instant(record.first_scheduled));
  first_token_.push_back(instant(record.first_token));
  last_token_.push_back(instant(record.last_token));
  client_end_.push_back(metrics.e2e ? (record.arrival + *metrics.e2e).count() : kNone);
  const std::array<std::optional<core::Duration>, kLatencies> latencies = {
      metrics.ttft, metrics.tpot, metrics.e2e, metrics.queue_time};
  for (std::size_t i = 0; i < kLatencies; ++i) {
    latencies_[i].push_back(ticks(latencies[i]));
  }
}

void RequestTable::show() const {
  static constexpr std::array<const char*, kLatencies> kInPicoseconds = {
      "ttft_ps", "tpot_ps", "e2e_ps", "queue_time_ps"};
  static constexpr std::array<const char*, kLatencies> kInMilliseconds = {
      "ttft_ms", "tpot_ms", "e2e_ms", "queue_time_ms"};
  add("id", id_);
  add("instance", instance_);
  add("prompt_tokens", prompt_tokens_, "tokens");
  add("output_tokens", output_tokens_, "tokens");
  add("cached_tokens", cached_tokens_, "tokens");
  add("preemptions", preemptions_);
  add("outcome", "", RL_WORD, outcome_);
  columns_.back().words = metrics::kOutcomeNames.data();
  columns_.back().num_words = metrics::kOutcomeNames.size();
  add("arrival_ps", arrival_, "ps");
  add("queued_ps", queued_, "ps");
  add("first_scheduled_ps", first_scheduled_, "ps");
  add("first_token_ps", first_token_, "ps");
  add("last_token_ps", last_token_, "ps");
  add("client_end_ps", client_end_, "ps");
  for (std::size_t i = 0; i < kLatencies; ++i) {
    add(kInPicoseconds[i], latencies_[i], "ps");
  }
  for (std::size_t i = 0; i < kLatencies; ++i) {
    to_milliseconds(latencies_[i], in_ms_[i]);
    add(kInMilliseconds[i], in_ms_[i], "ms");
  }
}

void StepTable::add_steps(const domain::StepRecord& record) {
  ++rows_;
  first_step_.push_back(record.first_step);
  steps_.push_back(record.steps);
  start_.push_back(record.start.count());
  period_.push_back(record.period.count());
  period_growth_.push_back(record.period_growth.count());
  num_decodes_.push_back(record.num_decodes);
  decode_context_.push_back(record.decode_context.value());
  num_prefills_.push_back(record.num_prefills);
  prefill_tokens_.push_back(record.prefill_tokens.value());
  gpu_time_.push_back(record.time.gpu().count());
  cpu_time_.push_back(record.time.cpu.count());
  used_blocks_.push_back(record.used_blocks.value());
}

void StepTable::show() const {
  add("first_step", first_step_);
  add("steps", steps_);
  add("start_ps", start_, "ps");
  add("period_ps", period_, "ps");
  add("period_growth_ps", period_growth_, "ps");
  add("num_decodes", num_decodes_);
  add("decode_context", decode_context_, "tokens");
  add("num_prefills", num_prefills_);
  add("prefill_tokens", prefill_tokens_, "tokens");
  add("gpu_ps", gpu_time_, "ps");
  add("cpu_ps", cpu_time_, "ps");
  add("used_blocks", used_blocks_, "blocks");
}

KeptTables::KeptTables(const verbs::Kept& kept)
    : most_requests_(kept.requests),
      requests_(kept.requests > 0 ? std::make_shared<RequestTable>() : nullptr),
      steps_(kept.steps ? std::make_shared<StepTable>() : nullptr) {}

void KeptTables::on_request(const domain::RequestRecord& record,
                            const metrics::RequestMetrics& metrics) {
  if (requests_ != nullptr && requests_->rows() == most_requests_) {
    requests_ = nullptr;
  }
  if (requests_ != nullptr) {
    requests_->add_request(record, metrics);
  }
}

void KeptTables::on_steps(const domain::StepRecord& record) {
  if (steps_ != nullptr) {
    steps_->add_steps(record);
  }
}

std::shared_ptr<const Table> KeptTables::find(std::string_view name) const {
  if (name == "requests") {
    return requests_;
  }
  return name == "steps" ? std::shared_ptr<const Table>(steps_) : nullptr;
}

}  // namespace ridgeline::api
