#include "metrics/tenant_table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/tenants.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {
namespace {

bool has_targets(const domain::Tenant& tenant) {
  return tenant.ttft || tenant.tpot || tenant.e2e;
}

/// A latency that a request does not have is within its target.
bool within(const std::optional<core::Duration>& value,
            const std::optional<core::Duration>& target) {
  return !target || !value || *value <= *target;
}

std::int64_t tokens_of(const TenantSummary& tenant) {
  return tenant.total_input_tokens + tenant.total_output_tokens;
}

std::optional<double> share_of(double part, double whole) {
  return whole > 0.0 ? std::optional(part / whole) : std::nullopt;
}

}  // namespace

void TenantTable::add(const domain::RequestRecord& record,
                      const RequestLatency& latency,
                      const RequestMetrics& metrics,
                      bool good) {
  const domain::TenantId id = tenants_->of(record.label_set);
  while (accounts_.size() < tenants_->size()) {
    accounts_.emplace_back(percentiles_);
  }
  const domain::Tenant& tenant = (*tenants_)[id];
  Account& account = accounts_[id.value()];
  TenantSummary& counts = account.counts;
  ++counts.requests;
  counts.rejected += record.outcome == domain::Outcome::kRejected ? 1 : 0;
  counts.expired += record.outcome == domain::Outcome::kExpired ? 1 : 0;
  if (!metrics::completed(record.outcome)) {
    account.failed += record.outcome != domain::Outcome::kUnfinished ? 1 : 0;
    return;
  }
  ++counts.completed;
  counts.total_input_tokens += record.prompt_tokens.value();
  counts.total_output_tokens += record.output_tokens.value();
  account.waits.add(record.gateway_wait);
  const bool is_good = has_targets(tenant) ? within(metrics.ttft, tenant.ttft) &&
                                                 within(metrics.tpot, tenant.tpot) &&
                                                 within(metrics.e2e, tenant.e2e)
                                           : good;
  account.good += is_good ? 1 : 0;
  if (percentiles_ == Percentiles::kExact) {
    account.latencies.add(record, latency);
  } else {
    account.latencies.add(metrics);
  }
}

std::vector<TenantSummary> TenantTable::summarise(std::optional<double> seconds,
                                                  bool judged) const {
  std::vector<TenantSummary> summaries;
  std::int64_t tokens = 0;
  for (std::size_t i = 0; any() && i < tenants_->size(); ++i) {
    const domain::Tenant& tenant =
        (*tenants_)[domain::TenantId(static_cast<domain::TenantId::Rep>(i))];
    const Account none(percentiles_);
    const Account& account = i < accounts_.size() ? accounts_[i] : none;
    TenantSummary& summary = summaries.emplace_back(account.counts);
    summary.name = tenant.name;
    summary.weight = tenant.share;
    const auto spread = account.latencies.distributions_ms();
    summary.ttft_ms = spread.client.ttft;
    summary.tpot_ms = spread.client.tpot;
    summary.e2e_ms = spread.client.e2e;
    summary.gateway_wait_ms = account.waits.distribution();
    if (judged || has_targets(tenant)) {
      summary.goodput = share_of(static_cast<double>(account.good), seconds.value_or(0.0));
      summary.good_share = share_of(static_cast<double>(account.good),
                                    static_cast<double>(account.counts.completed + account.failed));
    }
    tokens += tokens_of(summary);
  }
  for (TenantSummary& summary : summaries) {
    summary.share = share_of(static_cast<double>(tokens_of(summary)), static_cast<double>(tokens));
  }
  return summaries;
}

std::optional<double> jain_index(const std::vector<TenantSummary>& tenants) {
  double sum = 0.0;
  double squares = 0.0;
  for (const TenantSummary& tenant : tenants) {
    const double served = static_cast<double>(tokens_of(tenant)) / tenant.weight;
    sum += served;
    squares += served * served;
  }
  return share_of(sum * sum, static_cast<double>(tenants.size()) * squares);
}

std::optional<double> jain_index_of_demand(const std::vector<TenantSummary>& tenants) {
  struct Claim {
    double served = 0.0;
    double asked = 0.0;
    double weight = 1.0;
    double fair = 0.0;
  };
  std::vector<Claim> claims;
  double left = 0.0;
  double completed = 0.0;
  for (const TenantSummary& tenant : tenants) {
    left += static_cast<double>(tokens_of(tenant));
    completed += static_cast<double>(tenant.completed);
  }
  const double mean = share_of(left, completed).value_or(0.0);
  for (const TenantSummary& tenant : tenants) {
    const auto served = static_cast<double>(tokens_of(tenant));
    const double each = share_of(served, static_cast<double>(tenant.completed)).value_or(mean);
    const double asked = std::max(served, each * static_cast<double>(tenant.requests));
    claims.push_back({.served = served, .asked = asked, .weight = tenant.weight});
  }
  // Those that ask for least of their share come first: each gets what it asked for, or its share
  // of what is left.
  std::ranges::stable_sort(
      claims, {}, [](const Claim& claim) { return claim.asked / claim.weight; });
  double weights = 0.0;
  for (const Claim& claim : claims) {
    weights += claim.weight;
  }
  double sum = 0.0;
  double squares = 0.0;
  double counted = 0.0;
  for (Claim& claim : claims) {
    claim.fair = std::min(claim.asked, left * claim.weight / weights);
    left -= claim.fair;
    weights -= claim.weight;
    if (claim.fair > 0.0) {
      const double part = claim.served / claim.fair;
      sum += part;
      squares += part * part;
      counted += 1.0;
    }
  }
  return share_of(sum * sum, counted * squares);
}

}  // namespace ridgeline::metrics
