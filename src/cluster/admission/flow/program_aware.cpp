#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "cluster/admission/flow/by_flow.hpp"
#include "cluster/admission/flow/fairness.hpp"
#include "cluster/admission/flow/fairness_policies.hpp"
#include "core/math.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/tenants.hpp"

namespace ridgeline::admission {
namespace {

// llm-d-router ebab687.
constexpr double kServiceWeight = 0.8;
constexpr double kWaitWeight = 0.2;
constexpr double kOutputCost = 2.0;  ///< Cost of a generated token, where one of a prompt costs 1.
constexpr double kHalfLifeSeconds = 60.0;

/// llm-d's program-aware policy: little service of late and a long wait of the first request come
/// first. Both are taken over their largest among the flows that wait.
class ProgramAware final : public Fairness {
 public:
  [[nodiscard]] bool needs_output() const override { return true; }

  [[nodiscard]] std::size_t choose(std::span<const FlowHead> heads, core::SimTime now) override {
    double most_service = 0.0;
    double longest = 0.0;
    for (const FlowHead& head : heads) {
      most_service = std::max(most_service, service(head.flow, now));
      longest = std::max(longest, (now - head.since).to_seconds());
    }
    const auto score = [&](const FlowHead& head) {
      const double served = most_service > 0.0 ? service(head.flow, now) / most_service : 0.0;
      const double waited = longest > 0.0 ? (now - head.since).to_seconds() / longest : 0.0;
      return kServiceWeight * (1.0 - served) + kWaitWeight * waited;
    };
    return static_cast<std::size_t>(std::ranges::max_element(heads, {}, score) - heads.begin());
  }

  void on_dispatch(const FlowHead& head, core::SimTime now) override {
    add(head.flow, core::real(head.prompt_tokens.value()), now);
  }
  void on_output(domain::TenantId flow,
                 double /*share*/,
                 core::Tokens output,
                 core::SimTime now) override {
    add(flow, kOutputCost * core::real(output.value()), now);
  }

 private:
  struct Attained {
    double cost = 0.0;
    core::SimTime at;
  };

  double service(domain::TenantId flow, core::SimTime now) {
    constexpr double kLog2 = 0.693147180559945309;
    const Attained& attained = attained_[flow];
    const double age = (now - attained.at).to_seconds();
    return attained.cost * core::exp(-kLog2 * age / kHalfLifeSeconds);
  }
  void add(domain::TenantId flow, double cost, core::SimTime now) {
    const double before = service(flow, now);
    attained_[flow] = {.cost = before + cost, .at = now};
  }

  ByFlow<Attained> attained_;
};

}  // namespace

std::unique_ptr<Fairness> make_program_aware() {
  return std::make_unique<ProgramAware>();
}

}  // namespace ridgeline::admission
