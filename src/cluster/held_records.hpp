#pragma once

#include <variant>
#include <vector>

#include "domain/record.hpp"

namespace ridgeline::cluster {

/// Holds what one instance reports while it runs on a thread of its own, and hands it on afterwards
/// in the same order.
class HeldRecords final : public domain::RecordSink {
 public:
  void on_request(const domain::RequestRecord& record) override { held_.emplace_back(record); }
  void on_steps(const domain::StepRecord& record) override { held_.emplace_back(record); }
  void on_token_gaps(const domain::TokenGaps& gaps) override { held_.emplace_back(gaps); }

  void hand_on(domain::RecordSink& sink) {
    for (const Held& held : held_) {
      if (const auto* request = std::get_if<domain::RequestRecord>(&held)) {
        sink.on_request(*request);
      } else if (const auto* steps = std::get_if<domain::StepRecord>(&held)) {
        sink.on_steps(*steps);
      } else {
        sink.on_token_gaps(std::get<domain::TokenGaps>(held));
      }
    }
    held_.clear();
  }

 private:
  using Held = std::variant<domain::RequestRecord, domain::StepRecord, domain::TokenGaps>;
  std::vector<Held> held_;
};

}  // namespace ridgeline::cluster
