#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "metrics/slo.hpp"
#include "observe/record.hpp"
#include "scenario/scenario.hpp"
#include "verbs/clients/client_results.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {

/// What `observe` measured, as the files of benchmark clients have it. Requests of the warm-up are
/// in none of it.
class ObservedResults {
 public:
  void add(const observe::Row& row);
  [[nodiscard]] ClientResults& results() { return results_; }
  /// `scenario` is what the flags say of the server and the workload; the model is the one that was
  /// asked, at temperature 0.
  [[nodiscard]] RunResult result(const scenario::Scenario& scenario,
                                 const observe::RecordHead& head) const;

 private:
  ClientResults results_;
  std::array<std::vector<double>, metrics::kNumMetrics> seconds_;  ///< By metric.
};

}  // namespace ridgeline::verbs
