#include "verbs/run/registry.hpp"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/verbs/run/example_result.hpp"
#include "verbs/run/csv.hpp"
#include "verbs/run/result_json.hpp"
#include "verbs/run/result_tree.hpp"

namespace ridgeline::verbs {
namespace {

using fixtures::example_result;
using ::testing::HasSubstr;

std::string rendered(const std::string& name) {
  const auto exporter = find_exporter(name);
  EXPECT_TRUE(exporter.has_value()) << name;
  return exporter ? (*exporter)->render(example_result(), report::TextStyle{}) : std::string();
}

TEST(Exporters, HaveNamesAndExtensionsOfTheirOwn) {
  std::set<std::string> names;
  std::set<std::string> extensions;
  for (const auto& exporter : exporters()) {
    EXPECT_TRUE(names.insert(exporter.name).second) << exporter.name;
    EXPECT_FALSE(exporter.summary.empty()) << exporter.name;
    for (const auto& extension : exporter.extensions) {
      EXPECT_TRUE(extensions.insert(extension).second) << extension;
    }
  }
  EXPECT_EQ(names,
            (std::set<std::string>{
                "table", "json", "ndjson", "csv", "markdown", "svg", "quiet", "html"}));
}

TEST(Exporters, RenderWhatTheyAreCalled) {
  EXPECT_EQ(rendered("json"), result_json(example_result()));
  EXPECT_EQ(rendered("ndjson"), result_ndjson(example_result()));
  EXPECT_EQ(rendered("csv"), run_csv(result_tree(example_result())));
  EXPECT_THAT(rendered("table"), HasSubstr("TTFT      ms      182"));
  EXPECT_THAT(rendered("markdown"), HasSubstr("| TTFT | ms | 182 |"));
  EXPECT_THAT(
      rendered("svg"),
      ::testing::AllOf(::testing::StartsWith("<svg "), HasSubstr("TTFT"), HasSubstr("</svg>")));
  EXPECT_EQ(rendered("quiet"), "");
}

TEST(Exporters, UnknownNamesSayTheNearest) {
  const auto exporter = find_exporter("jsn");
  ASSERT_FALSE(exporter.has_value());
  EXPECT_THAT(core::to_string(exporter.error()[0]),
              ::testing::AllOf(HasSubstr("unknown format 'jsn'"),
                               HasSubstr("markdown"),
                               HasSubstr("did you mean 'json'?")));
}

TEST(Exporters, AreFoundByExtension) {
  const auto name_for = [](const std::string& path) {
    const auto exporter = exporter_for_path(path);
    return exporter ? (*exporter)->name : std::string("none");
  };
  EXPECT_EQ(name_for("out/result.json"), "json");
  EXPECT_EQ(name_for("log.ndjson"), "ndjson");
  EXPECT_EQ(name_for("log.jsonl"), "ndjson");
  EXPECT_EQ(name_for("a.csv"), "csv");
  EXPECT_EQ(name_for("a.md"), "markdown");
  EXPECT_EQ(name_for("a.txt"), "table");
  EXPECT_EQ(name_for("docs/a.svg"), "svg");
  EXPECT_EQ(name_for("a.json.gz"), "none");
  EXPECT_EQ(name_for("json"), "none");
  EXPECT_EQ(name_for(""), "none");
}

TEST(Exporters, AFileWithoutAKnownExtensionSaysWhichThereAre) {
  const auto exporter = exporter_for_path("result.jsn");
  ASSERT_FALSE(exporter.has_value());
  EXPECT_THAT(core::to_string(exporter.error()[0]),
              ::testing::AllOf(HasSubstr("'result.jsn' does not say a format"), HasSubstr(".csv")));
}

}  // namespace
}  // namespace ridgeline::verbs
