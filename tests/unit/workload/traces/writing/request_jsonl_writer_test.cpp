#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "unit/workload/items.hpp"
#include "workload/item.hpp"
#include "workload/traces/formats/request_jsonl.hpp"

namespace ridgeline::workload {
namespace {

std::string jsonl_of(const std::vector<Item>& items, const std::vector<Stage>& stages = {Stage{}}) {
  const auto stream = stream_of(items, stages);
  const auto writer = make_request_jsonl_writer();
  std::ostringstream out;
  writer->begin(out, *stream);
  for (const Item& item : items) {
    writer->write(out, item);
  }
  writer->end(out);
  return out.str();
}

TEST(RequestJsonlWriter, SaysNoMoreThanThereIs) {
  EXPECT_EQ(jsonl_of({item_at(0.1, 5, 7)}),
            "{\"arrival_s\":0.1,\"input_tokens\":5,\"output_tokens\":7}\n");
}

TEST(RequestJsonlWriter, WritesGroupsBehindALineOfSettings) {
  Item first = item_at(0.25, 5, 7);
  first.session = 0;
  Item second = item_after({0}, 1.5, 30);
  second.output_tokens = core::Tokens(2);
  second.prompt = {{.content = 9, .length = core::Tokens(4)},
                   {.content = output_of(0), .length = core::Tokens(7)}};
  EXPECT_EQ(jsonl_of({first, second}),
            "{\"ridgeline_workload\":1,\"groups\":true,\"waits\":true,\"block_tokens\":0,"
            "\"stages\":[{\"max_concurrency\":0,\"think_s\":0,\"after_previous\":false,"
            "\"pause_s\":0}]}\n"
            "{\"arrival_s\":0.25,\"input_tokens\":5,\"output_tokens\":7,\"session\":0}\n"
            "{\"arrival_s\":0,\"input_tokens\":30,\"output_tokens\":2,\"group\":1,\"after\":[0],"
            "\"delay_s\":1.5,\"prompt\":[[9,4],[-1,7]]}\n");
}

}  // namespace
}  // namespace ridgeline::workload
