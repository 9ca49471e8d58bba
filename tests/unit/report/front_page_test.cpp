#include "report/front_page.hpp"

#include <string>
#include <vector>

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

TEST(FrontPage, APlanNamesItsAnswer) {
  const auto plan = parsed(
      R"({"ranking":["a"],"answer":{"id":"a"},"candidates":[{"id":"a","gpus":2,)"
      R"("deployment":{"label":"2 of them","gpu":"h100"},"capacity_rps":{"value":8},)"
      R"("slo":[{"metric":"tpot","value":20}],"usd_per_mtok":0.5,"joules_per_token":{"value":3}},)"
      R"({"id":"b","gpus":1,"deployment":{"label":"one","gpu":"l4"},"capacity_rps":null,)"
      R"("slo":[],"dropped":{"stage":"bound","reason":"too slow"}}]})");
  const std::string page = plan_page(plan, "p.json");
  EXPECT_THAT(page, HasSubstr("its answer is a."));
  EXPECT_THAT(page, HasSubstr("<td>50.0</td><td>h100</td><td>2 of them</td><td>4.00</td>"));
  EXPECT_THAT(page, HasSubstr("too slow"));
}

TEST(FrontPage, NothingToDrawIsSaid) {
  EXPECT_THAT(plan_page(parsed(R"({"ranking":[],"candidates":[]})"), "p"),
              HasSubstr("No point has a number to draw."));
}

}  // namespace
}  // namespace ridgeline::report
