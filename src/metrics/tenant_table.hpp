#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "domain/record.hpp"
#include "domain/tenants.hpp"
#include "metrics/gateway_waits.hpp"
#include "metrics/request_latencies.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {

/// Gathers the requests of each tenant of a cluster apart, with the tenant's own targets.
class TenantTable {
 public:
  /// `tenants` outlives it; null: it gathers nothing.
  TenantTable(domain::Tenants* tenants, Percentiles percentiles)
      : tenants_(tenants), percentiles_(percentiles) {}

  [[nodiscard]] bool any() const { return tenants_ != nullptr; }
  /// A request that has ended. `good`: it met the run's targets, which hold for a tenant that has
  /// none of its own.
  void add(const domain::RequestRecord& record,
           const RequestLatency& latency,
           const RequestMetrics& metrics,
           bool good);
  /// In the order of the tenants. `seconds`: how long the run took; `judged`: the run has targets.
  [[nodiscard]] std::vector<TenantSummary> summarise(std::optional<double> seconds,
                                                     bool judged) const;

 private:
  struct Account {
    explicit Account(Percentiles percentiles) : latencies(percentiles), waits(percentiles) {}
    TenantSummary counts;
    std::int64_t failed = 0;  ///< Ended without an answer.
    std::int64_t good = 0;
    RequestLatencies latencies;
    GatewayWaits waits;
  };

  domain::Tenants* tenants_;
  Percentiles percentiles_;
  std::vector<Account> accounts_;  ///< By tenant.
};

/// Jain's index of the tenants' completed tokens, each over its share: 1 where all are alike, 1/n
/// where one has all (R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984). Nothing without tokens.
[[nodiscard]] std::optional<double> jain_index(const std::vector<TenantSummary>& tenants);

/// Jain's index of tokens over the fair part of what each asked for: all of it, or its share of
/// what is left by those that asked for less of theirs. 1 where nothing was refused. What was
/// refused counts as so many tokens as the tenant's completed requests have in the mean, or else
/// all tenants'.
[[nodiscard]] std::optional<double> jain_index_of_demand(const std::vector<TenantSummary>& tenants);

}  // namespace ridgeline::metrics
