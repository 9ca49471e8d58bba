#include "report/front_page.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

document::Node parsed(const std::string& text) {
  return *document::parse_json(text, "test");
}

TEST(FrontPage, ASweepIsDividedByItsGpus) {
  const std::vector<document::Node> rows = {
      parsed(R"({"ordinal":0,"point":{"gpu":"h100","engine.tensor_parallel_size":1},"result":)"
             R"({"output_throughput":400,"gpus":1,"tpot_ms":{"p50":10},"e2e_ms":{"p50":900}}})"),
      parsed(R"({"ordinal":1,"point":{"gpu":"h100","engine.tensor_parallel_size":2},"result":)"
             R"({"output_throughput":600,"gpus":2,"tpot_ms":{"p50":5},"e2e_ms":{"p50":500}}})"),
      parsed(R"({"ordinal":2,"status":"infeasible","point":{"gpu":"<i>","x":3},)"
             R"("errors":[{"message":"does not <fit>"}]})")};
  const std::string page = sweep_page(rows, "s.ndjson");
  EXPECT_THAT(page, HasSubstr("tensor_parallel_size 2"));
  EXPECT_THAT(page,
              HasSubstr("<td>200</td><td>h100</td><td>tensor_parallel_size 2</td><td>300</td>"));
  EXPECT_THAT(page,
              HasSubstr("<td>100</td><td>h100</td><td>tensor_parallel_size 1</td><td>400</td>"));
  EXPECT_THAT(page, HasSubstr("does not &lt;fit&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<fit>")));
}

TEST(FrontPage, NothingToDrawIsSaid) {
  EXPECT_THAT(sweep_page({}, "s"), HasSubstr("No point has a number to draw."));
}

TEST(FrontPage, ABoundIsSaidAndNeverTheBestBesideAnEstimate) {
  const auto row = [](const char* gpu, int served, const char* basis) {
    return parsed(fmt::format(
        R"({{"ordinal":0,"point":{{"gpu":"{}","x":1}},"result":{{"output_throughput":{},"gpus":1,)"
        R"("tpot_ms":{{"p50":10}},"e2e_ms":{{"p50":900}},"basis":"{}"}}}})",
        gpu,
        served,
        basis));
  };
  const std::string page = sweep_page(
      {row("mi300x", 900, "a bound, not an estimate"), row("h100", 400, "an estimate")}, "s");
  EXPECT_THAT(page, HasSubstr("x 1, a bound, not an estimate"));
  EXPECT_THAT(page, HasSubstr("<td>100</td><td>h100</td><td>x 1</td><td>400</td>"));
  EXPECT_THAT(page, Not(HasSubstr("<td>100</td><td>mi300x</td>")));
}

}  // namespace
}  // namespace ridgeline::report
