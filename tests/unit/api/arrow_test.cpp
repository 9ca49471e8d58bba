#include "api/arrow.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "api/tables.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"

namespace ridgeline::api {
namespace {

TEST(Arrow, AStreamHoldsOneBatchThatOutlivesIt) {
  auto table = std::make_shared<RequestTable>();
  for (int i = 0; i < 9; ++i) {
    metrics::RequestMetrics metrics;
    if (i != 4) {
      metrics.ttft = core::Duration::milliseconds(i + 1);
    }
    table->add_request({}, metrics);
  }
  ArrowArrayStream stream;
  export_stream(table, "d1", stream);
  const std::weak_ptr<const Table> kept = table;
  table.reset();
  ArrowSchema schema;
  ArrowArray batch;
  ArrowArray end;
  ASSERT_EQ(stream.get_schema(&stream, &schema), 0);
  ASSERT_EQ(stream.get_next(&stream, &batch), 0);
  ASSERT_EQ(stream.get_next(&stream, &end), 0);
  EXPECT_EQ(end.release, nullptr);
  stream.release(&stream);
  EXPECT_EQ(stream.release, nullptr);
  ASSERT_FALSE(kept.expired());

  // Two pairs of lengths and texts behind their number.
  std::int32_t pairs = 0;
  std::memcpy(&pairs, schema.metadata, sizeof(pairs));
  EXPECT_EQ(pairs, 2);
  for (std::int64_t i = 0; i < schema.n_children; ++i) {
    const std::string_view name = schema.children[i]->name;
    const ArrowArray& column = *batch.children[i];
    EXPECT_EQ(column.length, 9);
    if (name == "ttft_ms") {
      EXPECT_EQ(column.null_count, 1);
      EXPECT_EQ(static_cast<const std::uint8_t*>(column.buffers[0])[0], 0xff & ~(1 << 4));
      EXPECT_EQ(static_cast<const double*>(column.buffers[1])[8], 9.0);
    }
    if (name == "outcome") {
      EXPECT_STREQ(schema.children[i]->dictionary->format, "u");
      EXPECT_EQ(column.dictionary->length, static_cast<std::int64_t>(domain::kNumOutcomes));
    }
  }
  schema.release(&schema);
  EXPECT_EQ(schema.release, nullptr);
  batch.release(&batch);
  EXPECT_TRUE(kept.expired());
}

}  // namespace
}  // namespace ridgeline::api
