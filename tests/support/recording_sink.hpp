#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "domain/record.hpp"

namespace ridgeline::test {

/// Keeps everything an engine reports; token gaps are expanded, so that they compare however they
/// were cut.
class RecordingSink final : public domain::RecordSink {
 public:
  void on_request(const domain::RequestRecord& record) override { requests.push_back(record); }
  void on_steps(const domain::StepRecord& record) override {
    for (std::int64_t i = 0; i < record.steps; ++i) {
      domain::StepRecord step = record;
      step.first_step += i;
      step.steps = 1;
      step.period = record.period + record.period_growth * i;
      step.start = record.start + record.period * i + record.period_growth * (i * (i - 1) / 2);
      step.period_growth = {};
      step.decode_context += core::Tokens(record.num_decodes * i);
      step.time.add(record.growth_kind, record.gpu_growth * i);
      step.time.add(domain::Bottleneck::kOverhead, (record.period_growth - record.gpu_growth) * i);
      step.gpu_growth = {};
      steps.push_back(step);
    }
  }
  void on_token_gaps(const domain::TokenGaps& record) override {
    for (std::int64_t i = 0; i < record.count; ++i) {
      gaps[(record.gap + record.growth * i).count()] += record.requests;
    }
  }

  std::vector<domain::RequestRecord> requests;
  std::vector<domain::StepRecord> steps;
  std::map<std::int64_t, std::int64_t> gaps;  ///< Ticks to how often.
};

}  // namespace ridgeline::test
