// The preset `coding-agents` against the statistics of the published agent traces.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "workload/generate/client.hpp"
#include "workload/generate/presets.hpp"
#include "workload/item.hpp"

namespace ridgeline::workload {
namespace {

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

TEST(CodingAgents, HaveTheShapeOfTheRecordedSessions) {
  ClientSpec spec = (*find_workload_preset("coding-agents"))->make();
  spec.num_groups = 400;
  const auto stream = make_client(spec, 1);
  std::map<std::int32_t, double> last;
  std::vector<double> fresh;
  std::vector<double> gaps;
  double input = 0.0;
  double known = 0.0;
  double output = 0.0;
  double requests = 0.0;
  Item item;
  while (stream->next(item)) {
    const auto prompt = static_cast<double>(item.input_tokens.value());
    if (const auto before = last.find(item.session); before != last.end()) {
      fresh.push_back(prompt - before->second);
      known += before->second;
      gaps.push_back(item.delay.to_seconds());
    }
    last[item.session] = prompt;
    input += prompt;
    output += static_cast<double>(item.output_tokens.value());
    requests += 1.0;
  }
  EXPECT_NEAR(input / requests, 218'922, 0.05 * 218'922);
  EXPECT_NEAR(output / requests, 1077, 0.05 * 1077);
  EXPECT_NEAR(median(fresh), 1728, 0.05 * 1728);
  EXPECT_NEAR(median(gaps), 3.8, 0.4);
  EXPECT_NEAR(known / input, 0.983, 0.01);
}

}  // namespace
}  // namespace ridgeline::workload
