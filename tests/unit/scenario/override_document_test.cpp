#include "scenario/override_document.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "scenario/options.hpp"

namespace ridgeline::scenario {
namespace {

TEST(OverrideDocument, NestsSectionsAndCollectsPairs) {
  core::Errors errors;
  OverrideDocument document(errors);
  document.add({.path = "cluster.instances", .text = "4"});
  document.add({.path = "cluster.router.scorers", .text = "queue-scorer=2"});
  document.add({.path = "cluster.router.scorers", .text = "prefix-cache-scorer=0.5"});
  document.add({.path = "cluster.router.name", .text = "llm-d"});
  document.add({.path = "set", .text = "model.num_hidden_layers=40"});
  EXPECT_EQ(flow_text(document.finish()),
            "{cluster: {instances: 4, router: {name: llm-d, scorers: {queue-scorer: 2, "
            "prefix-cache-scorer: 0.5}}}, set: {model.num_hidden_layers: 40}}");
  EXPECT_TRUE(errors.empty());
}

TEST(OverrideDocument, NamesWhatIsNoPairAndNoOption) {
  core::Errors errors;
  OverrideDocument document(errors);
  document.add({.path = "cluster.router.scorers", .text = "queue-scorer"});
  document.add({.path = "cluster.instance", .text = "4"});
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0].message, "found \"queue-scorer\", expected NAME=VALUE");
  EXPECT_EQ(errors[1].hint, "did you mean cluster.instances?");
}

}  // namespace
}  // namespace ridgeline::scenario
