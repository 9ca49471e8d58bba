#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/tenants.hpp"

namespace ridgeline::admission {

/// How a minute is counted.
enum class RateWindow : std::uint8_t {
  kFixed,    ///< From one full minute of the run to the next.
  kSliding,  ///< The last minute, at every instant.
};

/// Limits of each tenant's requests and prompt tokens per minute, as gateways have them (Envoy AI
/// Gateway and AIBrix count fixed windows). What is refused counts towards nothing.
class RateLimits {
 public:
  RateLimits(const domain::Tenants& tenants, RateWindow window)
      : tenants_(&tenants), window_(window) {}

  /// Whether the tenant may send a prompt of that length now; counts it if so. Instants do not go
  /// back.
  bool take(domain::TenantId tenant, core::Tokens prompt, core::SimTime now);

 private:
  struct Taken {
    core::SimTime at;
    std::int64_t tokens = 0;
  };
  struct Account {
    std::deque<Taken> taken;  ///< In the sliding minute; for the fixed one the sums alone count.
    core::SimTime start;      ///< Start of the fixed minute.
    std::int64_t requests = 0;
    std::int64_t tokens = 0;
  };

  void forget_old(Account& account, core::SimTime now) const;

  const domain::Tenants* tenants_;
  RateWindow window_;
  std::vector<Account> accounts_;  ///< By tenant.
};

}  // namespace ridgeline::admission
