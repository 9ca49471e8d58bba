#include "verbs/list_networks.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "model/model_spec.hpp"
#include "model/networks_in_folder.hpp"

namespace ridgeline::verbs {
namespace {

TEST(NetworksReport, ARefusedNetworkStandsWithItsReason) {
  const std::vector<model::FoundNetwork> networks = {
      {.name = "good", .network = model::find_model("llama-3.1-8b")},
      {.name = "bad",
       .network = core::fail(core::Error{.field = "model_type", .message = "is missing"})}};
  const document::Node tree = networks_tree(networks);
  EXPECT_THAT(networks_text(tree, report::Face::kTerminal, {}),
              ::testing::EndsWith("  model_type: is missing\n1 read, 1 refused\n"));
  EXPECT_THAT(networks_text(tree, report::Face::kMarkdown, {}),
              ::testing::HasSubstr("| \u2013 | model_type: is missing |\n"));
  EXPECT_TRUE(tree.items()[0].find("refused")->is_null());
  EXPECT_TRUE(tree.items()[1].find("weight_bytes")->is_null());
}

}  // namespace
}  // namespace ridgeline::verbs
