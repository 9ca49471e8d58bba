#include "cluster/admission/rate_limit.hpp"

#include <cstddef>
#include <cstdint>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/tenants.hpp"

namespace ridgeline::admission {
namespace {

constexpr core::Duration kMinute = core::Duration::seconds(60);

}  // namespace

void RateLimits::forget_old(Account& account, core::SimTime now) const {
  if (window_ == RateWindow::kFixed) {
    const std::int64_t minute = now.count() / kMinute.count();
    const auto start = core::SimTime::at(kMinute * minute);
    if (start != account.start) {
      account = {.taken = {}, .start = start};
    }
    return;
  }
  for (; !account.taken.empty() && now - account.taken.front().at >= kMinute;
       account.taken.pop_front()) {
    account.requests -= 1;
    account.tokens -= account.taken.front().tokens;
  }
}

bool RateLimits::take(domain::TenantId tenant, core::Tokens prompt, core::SimTime now) {
  const domain::Tenant& limits = (*tenants_)[tenant];
  if (!limits.requests_per_minute && !limits.tokens_per_minute) {
    return true;
  }
  if (tenant.value() >= accounts_.size()) {
    accounts_.resize(tenant.value() + std::size_t{1});
  }
  Account& account = accounts_[tenant.value()];
  forget_old(account, now);
  const bool fits = account.requests + 1 <= limits.requests_per_minute.value_or(INT64_MAX) &&
                    account.tokens + prompt.value() <= limits.tokens_per_minute.value_or(INT64_MAX);
  if (fits) {
    account.requests += 1;
    account.tokens += prompt.value();
    if (window_ == RateWindow::kSliding) {
      account.taken.push_back({.at = now, .tokens = prompt.value()});
    }
  }
  return fits;
}

}  // namespace ridgeline::admission
