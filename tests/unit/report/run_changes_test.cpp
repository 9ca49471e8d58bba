#include "report/run_changes.hpp"

#include <string>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {
namespace {

document::Node result(const std::string& config, const std::string& summary, char digest) {
  return document::parse_json("{\"config\": " + config + ", \"summary\": " + summary +
                                  ", \"digest\": \"" + std::string(1, digest) + "\"}",
                              "test")
      .value();
}

TEST(RunChanges, NamesSettingsAndNumbersThatDiffer) {
  const auto before =
      result(R"({"gpu": "h100", "seed": 1})", R"({"ttft_ms": {"p99": 40.0}, "goodput": 8.0})", 'a');
  const auto after = result(R"({"gpu": "h200", "seed": 1, "slo": 2})",
                            R"({"ttft_ms": {"p99": 30.0}, "goodput": null})",
                            'b');
  TextStyle style;
  style.ascii = true;
  EXPECT_EQ(run_changes(before, after, style),
            "gpu: h100 -> h200\n"
            "slo: - -> 2\n"
            "TTFT p99      40.0 ->     30.0 ms  -25.0 %\n");
  style.palette = Palette::ansi();
  EXPECT_NE(run_changes(before, after, style).find("\x1b[32m  -25.0 %"), std::string::npos);
  EXPECT_NE(run_changes(after, before, style).find("\x1b[31m  +33.3 %"), std::string::npos);
}

TEST(RunChanges, OfEqualResultsSaysSo) {
  const auto run = result(R"({"gpu": "h100"})", "{}", 'a');
  EXPECT_EQ(run_changes(run, run, {}), "the same result\n");
}

}  // namespace
}  // namespace ridgeline::report
