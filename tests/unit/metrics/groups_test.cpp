#include "metrics/groups.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.hpp"
#include "domain/label_set.hpp"
#include "domain/record.hpp"
#include "metrics/recorder.hpp"
#include "metrics/request_latencies.hpp"
#include "metrics/samples.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "records.hpp"

namespace ridgeline::metrics {
namespace {

using domain::Label;
using testing::finished;
using testing::latency_of;
using testing::rejected;

core::LabelSetId tenant(domain::LabelSets& sets, std::int32_t number) {
  domain::LabelSet set;
  set.of(Label::kTenant) = number;
  return sets.number_of(set);
}

/// Tenant 0: TTFT 13 and 23 ms; tenant 1: TTFT 103 ms, and a refusal.
Summary summary_of(Percentiles percentiles) {
  domain::LabelSets sets;
  RecorderOptions options;
  options.percentiles = percentiles;
  options.label_sets = &sets;
  options.slo.limits[static_cast<std::size_t>(Metric::kTtft)] = core::Duration::milliseconds(20);
  Recorder recorder(options);
  const auto feed = [&](domain::RequestRecord record, std::int32_t number) {
    record.label_set = tenant(sets, number);
    recorder.on_request(record, latency_of(record));
  };
  feed(finished(0, 0, 10, 40, 4), 0);
  feed(finished(1, 0, 100, 140, 5), 1);
  feed(rejected(2, 0), 1);
  feed(finished(3, 0, 20, 50, 4), 0);
  feed(finished(4, 0, 30, 60, 4), 0);
  return recorder.summarise({});
}

TEST(Groups, AreSummedUpApart) {
  for (const auto percentiles : {Percentiles::kExact, Percentiles::kSketch}) {
    const Summary summary = summary_of(percentiles);
    // All requests are alike in their other labels.
    ASSERT_EQ(summary.groups.size(), 2U);
    const GroupSummary& first = summary.groups[0];
    EXPECT_EQ(first.label, Label::kTenant);
    EXPECT_EQ(first.value, 0);
    EXPECT_EQ(first.requests, 3);
    EXPECT_EQ(first.completed, 3);
    EXPECT_EQ(first.total_output_tokens, 12);
    // First tokens at 10, 20 and 30 ms, 3 ms from engine to client (records.hpp).
    ASSERT_TRUE(first.ttft_ms);
    EXPECT_DOUBLE_EQ(first.ttft_ms->of(Statistic::kMean), 23.0);
    EXPECT_DOUBLE_EQ(first.ttft_ms->of(Statistic::kMax), 33.0);
    // One of 13, 23 and 33 ms is at most 20.
    EXPECT_DOUBLE_EQ(first.good_share.value_or(0.0), 1.0 / 3.0);
    const GroupSummary& second = summary.groups[1];
    EXPECT_EQ(second.requests, 2);
    EXPECT_EQ(second.completed, 1);
    ASSERT_TRUE(second.ttft_ms);
    EXPECT_DOUBLE_EQ(second.ttft_ms->of(Statistic::kP50), 103.0);
    EXPECT_EQ(second.good_share, 0.0);
  }
}

TEST(Groups, AreBounded) {
  domain::LabelSets sets;
  RecorderOptions options;
  options.label_sets = &sets;
  Recorder recorder(options);
  constexpr std::int32_t kTenants = 50;
  for (std::int32_t i = 0; i < kTenants; ++i) {
    auto record = finished(static_cast<std::uint32_t>(i), 0, 10, 40, 4);
    record.label_set = tenant(sets, i);
    recorder.on_request(record, latency_of(record));
  }
  const Summary summary = recorder.summarise({});
  ASSERT_EQ(summary.groups.size(), Groups::kMost + 1);
  EXPECT_EQ(summary.groups.back().value, domain::LabelSet::kOther);
  EXPECT_EQ(summary.groups.back().requests, kTenants - static_cast<std::int32_t>(Groups::kMost));
}

TEST(Groups, WhatTheyLackIsNamed) {
  domain::LabelSets sets;
  RecorderOptions options;
  options.label_sets = &sets;
  Recorder recorder(options);
  auto served = finished(0, 0, 10, 40, 4);
  served.label_set = tenant(sets, 0);
  auto refused = rejected(1, 0);
  refused.label_set = tenant(sets, 1);
  for (const auto& record : {served, refused}) {
    recorder.on_request(record, latency_of(record));
  }
  std::string named;
  for (const auto& warning : missing_numbers(recorder.summarise({}))) {
    named += warning.message + "\n";
  }
  EXPECT_THAT(named, ::testing::HasSubstr("summary.groups.tenant: in some group no request"));
}

}  // namespace
}  // namespace ridgeline::metrics
