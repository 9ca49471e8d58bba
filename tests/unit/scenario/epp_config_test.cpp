#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/imports/imports.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> lines_of(const core::Result<Imported>& imported) {
  std::vector<std::string> lines;
  if (imported) {
    for (const Override& change : imported->overrides) {
      lines.push_back(change.path + " " + change.text);
    }
  } else {
    for (const core::Error& error : imported.error()) {
      lines.push_back(core::to_string(error));
    }
  }
  return lines;
}

std::vector<std::string> imported(const std::string& text) {
  return lines_of(overrides_of_epp_config(*document::parse_yaml(text, "epp.yaml")));
}

TEST(EppConfig, IsARouter) {
  EXPECT_THAT(imported(R"(
apiVersion: inference.networking.x-k8s.io/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: queue-scorer
- type: prefix-cache-scorer
  name: prefix
- type: approx-prefix-cache-producer
  parameters: {autoTune: false, blockSizeTokens: 128}
- type: max-score-picker
- type: single-profile-handler
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: queue-scorer, weight: 2}
  - {pluginRef: prefix, weight: 3}
  - {pluginRef: max-score-picker}
)"),
              ElementsAre("cluster.router.name llm-d",
                          "cluster.router.blockSizeTokens 128",
                          "cluster.router.scorers queue-scorer=2",
                          "cluster.router.scorers prefix-cache-scorer=3",
                          "cluster.router.picker max-score-picker"));
}

TEST(EppConfig, KvEventsAndTheAffinityFilterNameTheRouter) {
  EXPECT_THAT(imported("plugins: [{type: precise-prefix-cache-scorer}]\n"
                       "schedulingProfiles: [{name: default, plugins: [{pluginRef: "
                       "precise-prefix-cache-scorer, weight: 3}]}]\n"),
              ElementsAre("cluster.router.name llm-d-precise",
                          "cluster.router.scorers prefix-cache-scorer=3"));
  EXPECT_THAT(imported("plugins: [{type: prefix-cache-affinity-filter, parameters: "
                       "{affinityThreshold: 0.5}}, {type: token-load-scorer}]\n"
                       "schedulingProfiles: [{plugins: [{pluginRef: prefix-cache-affinity-filter}, "
                       "{pluginRef: token-load-scorer}]}]\n"),
              ElementsAre("cluster.router.name llm-d-sticky",
                          "cluster.router.affinityThreshold 0.5",
                          "cluster.router.scorers token-load-scorer=1",
                          "cluster.router.autoTune true"));
}

TEST(EppConfig, WhatIsUnknownIsNamed) {
  EXPECT_THAT(
      imported("plugins: [{type: queue-scorers}, {type: queue-scorer, parameters: {x: 1}}]\n"
               "schedulingProfiles: [{plugins: [{pluginRef: nothing}]}]\n"),
      ElementsAre(testing::AllOf(HasSubstr("plugins.queue-scorers: no such plugin here"),
                                 HasSubstr("did you mean 'queue-scorer'?")),
                  HasSubstr("plugins.queue-scorer.x: no such parameter here"),
                  HasSubstr("no plugin is called 'nothing'")));
  EXPECT_THAT(imported("plugins: []\n"),
              ElementsAre(HasSubstr("schedulingProfiles: expected one profile")));
}

TEST(EppConfig, AdmissionAndFlowControlAreRead) {
  const std::string profile = "schedulingProfiles: [{plugins: [{pluginRef: queue-scorer}]}]\n";
  EXPECT_THAT(
      imported(
          "plugins: [{type: queue-scorer}, {type: probabilistic-admitter}, {type: "
          "utilization-detector, parameters: {queueDepthThreshold: 9}}]\n"
          "featureGates: [flowControl]\nflowControl: {defaultPriorityBand: {maxRequests: 7}}\n" +
          profile),
      ElementsAre("cluster.router.name llm-d",
                  "cluster.admission.name probabilistic",
                  "cluster.admission.saturation_detector utilization-detector",
                  "cluster.admission.queue_depth_threshold 9",
                  "cluster.admission.flow_control true",
                  "cluster.admission.per_band_requests 7",
                  "cluster.router.scorers queue-scorer=1"));
  EXPECT_THAT(
      imported("plugins: [{type: queue-scorer, parameters: {hashBlockSize: 64}}]\n" + profile),
      ElementsAre(HasSubstr("one of blockSizeTokens,")));
}

TEST(EppConfig, TheProfileOfDecodeServes) {
  const std::string text =
      "plugins: [{type: queue-scorer}, {type: topology-affinity-filter}, {type: "
      "disagg-profile-handler}, {type: prefix-cache-scorer}, {type: token-producer, parameters: "
      "{modelName: m}}]\nschedulingProfiles:\n"
      "- {name: prefill, plugins: [{pluginRef: topology-affinity-filter}]}\n"
      "- {name: decode, plugins: [{pluginRef: prefix-cache-scorer, weight: 2}]}\n";
  EXPECT_THAT(imported(text),
              ElementsAre("cluster.router.name llm-d",
                          "cluster.router.scorers prefix-cache-scorer=2",
                          "cluster.router.autoTune true"));
  const auto whole = overrides_of_epp_config(*document::parse_yaml(text, "epp.yaml"));
  ASSERT_EQ(whole->warnings.size(), 2U);
  EXPECT_THAT(whole->warnings[0].message, HasSubstr("the profile prefill is not read"));
  EXPECT_THAT(whole->warnings[1].message, HasSubstr("plugins.token-producer.modelName"));
  EXPECT_THAT(imported("plugins: [{type: no-hit-lru-scorer}]\nschedulingProfiles: [{plugins: "
                       "[{pluginRef: no-hit-lru-scorer}]}]\n"),
              ElementsAre(HasSubstr("plugins.no-hit-lru-scorer: is not simulated")));
}

TEST(EppConfig, BadValuesKeepTheirPlace) {
  EXPECT_THAT(imported("kind: Pod\n"
                       "plugins: [{type: queue-scorer}, {type: queue-scorer}]\n"
                       "schedulingProfiles:\n"
                       "- plugins: [{pluginRef: queue-scorer, weight: -3}]\n"),
              ElementsAre(HasSubstr("kind: found Pod, expected EndpointPickerConfig"),
                          HasSubstr("plugins.queue-scorer: listed twice"),
                          testing::AllOf(HasSubstr("weight"), HasSubstr("epp.yaml:4"))));
}

}  // namespace
}  // namespace ridgeline::scenario
