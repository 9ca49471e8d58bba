#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "cluster/admission/admission.hpp"
#include "cluster/admission/flow/fairness.hpp"
#include "cluster/admission/flow/flow_control.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/tenants.hpp"
#include "unit/cluster/admission/claims.hpp"

namespace ridgeline::admission::test {

/// Two tenants that always have requests waiting, in front of seats that are always taken.
struct Backlog {
  std::unique_ptr<Fairness> (*fairness)() = nullptr;
  std::vector<double> shares = {1.0, 1.0};
  /// Prompts and outputs are uniform from 1 to these, by tenant.
  std::vector<std::uint64_t> most_input = {400, 400};
  std::vector<std::uint64_t> most_output = {200, 200};
  std::size_t seats = 8;
  double input_weight = 1.0;
  double output_weight = 0.0;
  std::int64_t requests = 40'000;
  std::uint64_t seed = 1;
};

struct Service {
  std::vector<double> served;  ///< Weighted tokens by tenant, over its share.
  /// By how much one tenant's service grew more than the other's in any window.
  double widest_gap = 0.0;
};

inline Service serve(const Backlog& setup) {
  struct InService {
    Claim claim;
    std::int64_t output = 0;
  };
  FlowControl flows({.fairness = setup.fairness});
  core::RngStream draws(setup.seed, 0, "backlog");
  std::vector<InService> seats;
  Service service{.served = {0.0, 0.0}};
  std::uint32_t next_id = 0;
  double lowest = 0.0;
  double highest = 0.0;
  const auto serve_more = [&](const Claim& claim, double tokens) {
    service.served[claim.tenant.value()] += tokens / claim.share;
    const double gap = service.served[0] - service.served[1];
    lowest = std::min(lowest, gap);
    highest = std::max(highest, gap);
  };
  const auto wait = [&](std::uint32_t tenant) {
    Claim one = claim(
        next_id++, tenant, 0, 1 + static_cast<std::int64_t>(draws.below(setup.most_input[tenant])));
    one.share = setup.shares[tenant];
    flows.enqueue(one);
  };
  for (std::uint32_t i = 0; i < 6; ++i) {
    wait(i % 2);
  }
  for (std::int64_t i = 0; i < setup.requests; ++i) {
    const core::SimTime now = ms(i);
    if (seats.size() == setup.seats) {
      const std::size_t ended = draws.below(seats.size());
      const InService one = seats[ended];
      seats.erase(seats.begin() + static_cast<std::ptrdiff_t>(ended));
      flows.note_output(one.claim, core::Tokens(one.output), now);
      serve_more(one.claim, setup.output_weight * static_cast<double>(one.output));
    }
    const Claim sent = *flows.dispatch(0.0, now);
    const std::uint32_t tenant = sent.tenant.value();
    seats.push_back(
        {.claim = sent,
         .output = 1 + static_cast<std::int64_t>(draws.below(setup.most_output[tenant]))});
    serve_more(sent, setup.input_weight * static_cast<double>(sent.prompt_tokens.value()));
    wait(tenant);
  }
  service.widest_gap = highest - lowest;
  return service;
}

/// How many requests a closed form is run over, and with which seed.
inline Backlog sized(Backlog setup) {
  const char* drawn = std::getenv("RIDGELINE_CLOSED_FORMS_SEED");
  setup.requests = drawn == nullptr ? 40'000 : 1'000'000;
  setup.seed = drawn == nullptr ? 1 : std::strtoull(drawn, nullptr, 10);
  return setup;
}

}  // namespace ridgeline::admission::test
