#pragma once

#include <cstdint>

#include "domain/record.hpp"
#include "domain/request.hpp"
#include "metrics/request_metrics.hpp"

namespace ridgeline::cli {

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
