#include "verbs/saved_views.hpp"

#include <string>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "document/node_builder.hpp"

namespace ridgeline::verbs {
namespace {

using document::MapBuilder;
using document::Node;

TEST(SavedViews, AreFoundByWhatATreeHolds) {
  const Node list = document::list_node({});
  const Node plan = MapBuilder().add("candidates", list).add("ranking", list);
  ASSERT_NE(view_of(plan), nullptr);
  EXPECT_EQ(view_of(plan)->kind, "a plan");
  const Node mix = MapBuilder().add("candidates", list).add("mix", Node());
  EXPECT_EQ(view_of(mix)->kind, "a plan");
  const Node run = MapBuilder().add("summary", Node()).add("config", Node());
  EXPECT_EQ(view_of(run), nullptr);
}

/// A saved file may be anything that has their keys.
TEST(SavedViews, ShowWhatIsLeftOfADamagedFile) {
  for (const Node& odd : {Node(),
                          document::integer_node(-3),
                          document::text_node("x"),
                          document::list_node({Node(), document::text_node("y")}),
                          MapBuilder().add("a", -1e300).build()}) {
    const Node validation = MapBuilder().add("counts", odd).add("scores", odd).add("records", odd);
    const Node trace = MapBuilder()
                           .add("rate_over_time", odd)
                           .add("block_reuse", odd)
                           .add("requests", odd)
                           .add("models", odd)
                           .add("warnings", odd);
    const Node plan = MapBuilder()
                          .add("candidates", document::list_node({odd, odd}))
                          .add("ranking", odd)
                          .add("question", odd)
                          .add("answer", odd)
                          .add("search", odd);
    const Node step = MapBuilder()
                          .add("parts", document::list_node({odd}))
                          .add("hidden", document::list_node({odd}))
                          .add("step_us", odd)
                          .add("headline", odd);
    const Node steps = MapBuilder().add("by_bottleneck", odd).add("ridge_crossings", odd);
    const Node fit = MapBuilder()
                         .add("fitted", odd)
                         .add("unused_records", odd)
                         .add("bands", document::list_node({odd}));
    for (const Node* tree : {&validation, &trace, &plan, &step, &steps, &fit}) {
      const SavedView& view = *view_of(*tree);
      for (const auto format : view.formats) {
        const std::string text = view.show(*tree, format, {});
        EXPECT_TRUE(!text.empty() || format == "csv") << view.kind << " as " << format;
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline::verbs
