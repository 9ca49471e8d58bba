#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "domain/record.hpp"
#include "domain/request.hpp"
#include "metrics/request_metrics.hpp"

namespace ridgeline::cli {

/// Hands everything on to each of several listeners.
class Listeners final : public metrics::Listener {
 public:
  void add(metrics::Listener* listener) { all_.push_back(listener); }
  [[nodiscard]] bool empty() const { return all_.empty(); }
  void on_arrival(const domain::Request& request) override {
    for (auto* listener : all_) {
      listener->on_arrival(request);
    }
  }
  void on_request(const domain::RequestRecord& record,
                  const metrics::RequestMetrics& metrics) override {
    for (auto* listener : all_) {
      listener->on_request(record, metrics);
    }
  }
  [[nodiscard]] bool needs_steps() const override {
    return std::ranges::any_of(all_, &metrics::Listener::needs_steps);
  }
  void on_steps(const domain::StepRecord& record) override {
    for (auto* listener : all_) {
      listener->on_steps(record);
    }
  }

 private:
  std::vector<metrics::Listener*> all_;
};

/// Counts prompts that say which tokens they hold.
class PromptCount final : public metrics::Listener {
 public:
  void on_arrival(const domain::Request& request) override {
    ++requests_;
    with_prompt_ += request.prompt.empty() ? 0 : 1;
  }
  void on_request(const domain::RequestRecord& record,
                  const metrics::RequestMetrics& metrics) override {
    static_cast<void>(record);
    static_cast<void>(metrics);
  }
  [[nodiscard]] std::int64_t requests() const { return requests_; }
  [[nodiscard]] std::int64_t with_prompt() const { return with_prompt_; }

 private:
  std::int64_t requests_ = 0;
  std::int64_t with_prompt_ = 0;
};

}  // namespace ridgeline::cli
