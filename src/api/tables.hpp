#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "ridgeline.h"
#include "verbs/run.hpp"

namespace ridgeline::api {

/// Columns of equal length, as rl_table() shows them. Filled while a run goes on, then const.
class Table {
 public:
  Table() = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  virtual ~Table() = default;

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  /// The columns; what is derived is made at the first call.
  [[nodiscard]] const std::vector<rl_column>& columns() const {
    std::call_once(shown_, [this] { show(); });
    return columns_;
  }

 protected:
  /// Calls add() for each column, in order.
  virtual void show() const = 0;

  template <class T>
  void add(const char* name, const char* unit, int type, const std::vector<T>& values) const {
    columns_.push_back({.name = name,
                        .unit = unit,
                        .type = type,
                        .data = values.data(),
                        .words = nullptr,
                        .num_words = 0});
  }
  void add(const char* name, const std::vector<std::int32_t>& values, const char* unit = "") const {
    add(name, unit, RL_INT32, values);
  }
  void add(const char* name, const std::vector<std::int64_t>& values, const char* unit = "") const {
    add(name, unit, RL_INT64, values);
  }
  void add(const char* name, const std::vector<double>& values, const char* unit) const {
    add(name, unit, RL_FLOAT64, values);
  }

  std::int64_t rows_ = 0;
  mutable std::vector<rl_column> columns_;

 private:
  mutable std::once_flag shown_;
};

/// One row per request, as they end: picoseconds and counts, and the latencies in milliseconds by
/// the division that every number of a result comes from. -1 and NaN where a request has none.
class RequestTable final : public Table {
 public:
  void add_request(const domain::RequestRecord& record, const metrics::RequestMetrics& metrics);

 protected:
  void show() const override;

 private:
  std::vector<std::int64_t> id_;
  std::vector<std::int32_t> instance_;
  std::vector<std::int32_t> prompt_tokens_;
  std::vector<std::int32_t> output_tokens_;
  std::vector<std::int32_t> cached_tokens_;
  std::vector<std::int32_t> preemptions_;
  std::vector<std::uint8_t> outcome_;
  std::vector<std::int64_t> arrival_;
  std::vector<std::int64_t> queued_;
  std::vector<std::int64_t> first_scheduled_;
  std::vector<std::int64_t> first_token_;
  std::vector<std::int64_t> last_token_;
  std::vector<std::int64_t> client_end_;
  /// TTFT, TPOT, E2E and queue time.
  static constexpr std::size_t kLatencies = 4;
  std::vector<std::int64_t> latencies_[kLatencies];
  mutable std::vector<double> in_ms_[kLatencies];
};

/// One row per step or run of equal steps (domain::StepRecord).
class StepTable final : public Table {
 public:
  void add_steps(const domain::StepRecord& record);

 protected:
  void show() const override;

 private:
  std::vector<std::int64_t> first_step_;
  std::vector<std::int64_t> steps_;
  std::vector<std::int64_t> start_;
  std::vector<std::int64_t> period_;
  std::vector<std::int64_t> period_growth_;
  std::vector<std::int64_t> num_decodes_;
  std::vector<std::int64_t> decode_context_;
  std::vector<std::int64_t> num_prefills_;
  std::vector<std::int64_t> prefill_tokens_;
  std::vector<std::int64_t> gpu_time_;
  std::vector<std::int64_t> cpu_time_;
  std::vector<std::int64_t> used_blocks_;
};

/// Keeps what is asked for of a run. Of a run with more requests than are to be kept, none.
class KeptTables final : public metrics::Listener {
 public:
  explicit KeptTables(const verbs::Kept& kept);

  void on_request(const domain::RequestRecord& record,
                  const metrics::RequestMetrics& metrics) override;
  [[nodiscard]] bool needs_steps() const override { return steps_ != nullptr; }
  void on_steps(const domain::StepRecord& record) override;

  /// "requests" or "steps"; null where it was not kept.
  [[nodiscard]] std::shared_ptr<const Table> find(std::string_view name) const;

 private:
  std::int64_t most_requests_;
  std::shared_ptr<RequestTable> requests_;
  std::shared_ptr<StepTable> steps_;
};

}  // namespace ridgeline::api
