#pragma once

#include <algorithm>
#include <vector>

#include "domain/record.hpp"
#include "domain/request.hpp"
#include "metrics/request_metrics.hpp"

namespace ridgeline::metrics {

/// Hands everything on to each of several listeners.
class Listeners final : public Listener {
 public:
  void add(Listener* listener) { all_.push_back(listener); }
  [[nodiscard]] bool empty() const { return all_.empty(); }
  void on_arrival(const domain::Request& request) override {
    for (auto* listener : all_) {
      listener->on_arrival(request);
    }
  }
  void on_request(const domain::RequestRecord& record, const RequestMetrics& metrics) override {
    for (auto* listener : all_) {
      listener->on_request(record, metrics);
    }
  }
  [[nodiscard]] bool needs_steps() const override {
    return std::ranges::any_of(all_, &Listener::needs_steps);
  }
  void on_steps(const domain::StepRecord& record) override {
    for (auto* listener : all_) {
      listener->on_steps(record);
    }
  }

 private:
  std::vector<Listener*> all_;
};

}  // namespace ridgeline::metrics
