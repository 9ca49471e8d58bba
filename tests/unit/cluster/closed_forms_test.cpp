#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/admission/settings.hpp"
#include "core/time.hpp"
#include "routing/parameters.hpp"
#include "routing/router.hpp"
#include "support/queueing.hpp"
#include "support/routers.hpp"

namespace ridgeline::cluster {
namespace {

using ridgeline::test::Estimate;
using ridgeline::test::Queueing;
using ridgeline::test::run_queueing;

/// The mean that queueing theory gives, in units of the mean service time.
struct ClosedForm {
  std::string name;
  std::unique_ptr<routing::Router> (*router)(const routing::RouterSetup&);
  std::int64_t servers;
  Queueing::Service service;
  double load;
  double mean;
  bool wait;  ///< The mean is of the wait; otherwise of the response time.
};

constexpr auto kExponential = Queueing::Service::kExponential;
constexpr auto kDeterministic = Queueing::Service::kDeterministic;

/// Random splitting of a Poisson stream leaves M/D/1 and M/M/1 queues (Pollaczek-Khinchine); going
/// round leaves E_k/D/1. Two servers, the shorter queue: Flatto and McKean 1977, by solution of the
/// chain's balance equations.
std::vector<ClosedForm> closed_forms() {
  using namespace routing;
  return {
      {"Random4MD1", routing::maker_of("random"), 4, kDeterministic, 0.5, 0.5, true},
      {"Random4MD1", routing::maker_of("random"), 4, kDeterministic, 0.8, 2.0, true},
      {"Random4MD1", routing::maker_of("random"), 4, kDeterministic, 0.9, 4.5, true},
      {"RoundRobin2", routing::maker_of("round-robin"), 2, kDeterministic, 0.5, 0.176741, true},
      {"RoundRobin2", routing::maker_of("round-robin"), 2, kDeterministic, 0.8, 0.903284, true},
      {"RoundRobin2", routing::maker_of("round-robin"), 2, kDeterministic, 0.9, 2.146923, true},
      {"RoundRobin4", routing::maker_of("round-robin"), 4, kDeterministic, 0.5, 0.049652, true},
      {"RoundRobin4", routing::maker_of("round-robin"), 4, kDeterministic, 0.8, 0.386095, true},
      {"RoundRobin4", routing::maker_of("round-robin"), 4, kDeterministic, 0.9, 0.999966, true},
      {"RoundRobin8", routing::maker_of("round-robin"), 8, kDeterministic, 0.5, 0.009321, true},
      {"RoundRobin8", routing::maker_of("round-robin"), 8, kDeterministic, 0.8, 0.151954, true},
      {"RoundRobin8", routing::maker_of("round-robin"), 8, kDeterministic, 0.9, 0.449973, true},
      {"Random4MM1", routing::maker_of("random"), 4, kExponential, 0.5, 2.0, false},
      {"Random4MM1", routing::maker_of("random"), 4, kExponential, 0.8, 5.0, false},
      {"Random4MM1", routing::maker_of("random"), 4, kExponential, 0.9, 10.0, false},
      {"Shortest2", routing::maker_of("least-request"), 2, kExponential, 0.5, 1.426321, false},
      {"Shortest2", routing::maker_of("least-request"), 2, kExponential, 0.8, 2.955737, false},
      {"Shortest2", routing::maker_of("least-request"), 2, kExponential, 0.9, 5.4749, false},
      {"Shortest4", routing::maker_of("least-request"), 4, kExponential, 0.5, 1.158151, false},
      {"Shortest4", routing::maker_of("least-request"), 4, kExponential, 0.8, 1.9531, false},
      {"Oracle4", routing::maker_of("jsq-oracle"), 4, kExponential, 0.8, 1.9531, false},
  };
}

class FleetClosedForms : public testing::TestWithParam<ClosedForm> {};

/// `./dev properties` runs a million requests of a new seed; other runs a share of one seed.
TEST_P(FleetClosedForms, TheMeanIsWhatQueueingTheorySays) {
  const ClosedForm& form = GetParam();
  const char* drawn = std::getenv("RIDGELINE_CLOSED_FORMS_SEED");
  const auto measured =
      run_queueing({.router = form.router,
                    .servers = form.servers,
                    .load = form.load,
                    .service = form.service,
                    .requests = drawn == nullptr ? 40'000 : 1'000'000,
                    .seed = drawn == nullptr ? 1 : std::strtoull(drawn, nullptr, 10)});
  const Estimate& found = form.wait ? measured.wait : measured.response;
  EXPECT_LT(std::abs(found.mean - form.mean), 3.0 * found.deviation)
      << found.mean << " +- " << found.deviation << ", expected " << form.mean;
}

std::string name_of(const testing::TestParamInfo<ClosedForm>& info) {
  return info.param.name + "At" + std::to_string(std::lround(info.param.load * 100.0));
}

INSTANTIATE_TEST_SUITE_P(, FleetClosedForms, testing::ValuesIn(closed_forms()), name_of);

/// Servers behind one queue: the gateway holds what they have no seat for (M/M/c, Erlang's C
/// formula).
struct OneQueue {
  std::int64_t servers;
  double load;
  double response;
};

class OneGatewayQueue : public testing::TestWithParam<OneQueue> {};

TEST_P(OneGatewayQueue, GivesErlangsResponseTime) {
  const OneQueue& form = GetParam();
  admission::Settings settings;
  settings.flow_control = true;
  settings.saturation_detector = "concurrency-detector";
  settings.max_concurrency = 1.0;
  settings.request_ttl = core::Duration::max();
  settings.dispatch_tick_interval = core::Duration::microseconds(1);
  const char* drawn = std::getenv("RIDGELINE_CLOSED_FORMS_SEED");
  const auto found = run_queueing({.router = routing::maker_of("least-request"),
                                   .servers = form.servers,
                                   .load = form.load,
                                   .requests = drawn == nullptr ? 40'000 : 1'000'000,
                                   .seed = drawn == nullptr ? 1 : std::strtoull(drawn, nullptr, 10),
                                   .admission = settings})
                         .response;
  EXPECT_LT(std::abs(found.mean - form.response), 3.0 * found.deviation)
      << found.mean << " +- " << found.deviation << ", expected " << form.response;
}

INSTANTIATE_TEST_SUITE_P(FleetClosedForms,
                         OneGatewayQueue,
                         testing::Values(OneQueue{2, 0.5, 1.333333},
                                         OneQueue{2, 0.8, 2.777778},
                                         OneQueue{2, 0.9, 5.263158},
                                         OneQueue{4, 0.5, 1.086957},
                                         OneQueue{4, 0.8, 1.745541},
                                         OneQueue{4, 0.9, 2.969383},
                                         OneQueue{8, 0.5, 1.014761},
                                         OneQueue{8, 0.8, 1.286028},
                                         OneQueue{8, 0.9, 1.876916}),
                         [](const auto& one) {
                           return "Of" + std::to_string(one.param.servers) + "At" +
                                  std::to_string(std::lround(one.param.load * 100.0));
                         });

/// Two choices of many servers: mean response of the limit of infinitely many (Mitzenmacher 1996,
/// Vvedenskaya and others 1996). 100 servers are within two in a hundred of it.
TEST(TwoChoices, OfAHundredServersAreNearTheLimit) {
  const auto found = run_queueing({.router = routing::maker_of("power-of-two"),
                                   .servers = 100,
                                   .load = 0.8,
                                   .requests = 60'000})
                         .response;
  EXPECT_NEAR(found.mean, 1.947363, 0.04 + 3.0 * found.deviation);
}

/// The shortest queue by stale counts: worse with the delay, at last worse than no knowledge
/// (Mitzenmacher 2000).
TEST(StaleCounts, WorsenWithTheirAgeAndPassRandom) {
  const auto mean = [](auto* router, std::int64_t delay_s) {
    return run_queueing({.router = router,
                         .servers = 8,
                         .load = 0.8,
                         .requests = 40'000,
                         .times = {.notice_latency = core::Duration::seconds(delay_s)}})
        .response.mean;
  };
  const double fresh = mean(routing::maker_of("jsq-oracle"), 0);
  const double known = mean(routing::maker_of("least-request"), 0);
  const double stale = mean(routing::maker_of("least-request"), 4);
  EXPECT_NEAR(known, fresh, 0.05);
  EXPECT_GT(stale, 1.2 * known);
}

}  // namespace
}  // namespace ridgeline::cluster
