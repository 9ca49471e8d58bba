#include "sim/logs/perfetto.hpp"

#include <cstdint>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <protozero/pbf_reader.hpp>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "sim/logs/perfetto_fields.hpp"

namespace ridgeline::sim {
namespace {

namespace field = perfetto_fields;

core::SimTime at_ms(std::int64_t ms) {
  return core::SimTime::at(core::Duration::ticks(ms * 1'000'000'000));
}

/// A request that waits 1 ms, computes its prompt for 2 and answers for 7.
domain::RequestRecord request(std::uint32_t id, std::int64_t arrival_ms) {
  domain::RequestRecord record;
  record.id = core::RequestId(id);
  record.instance = core::InstanceId(0);
  record.arrival = at_ms(arrival_ms);
  record.queued = at_ms(arrival_ms);
  record.first_scheduled = at_ms(arrival_ms + 1);
  record.first_token = at_ms(arrival_ms + 3);
  record.last_token = at_ms(arrival_ms + 10);
  return record;
}

domain::StepRecord step(std::int64_t start_ms) {
  domain::StepRecord record;
  record.start = at_ms(start_ms);
  record.period = core::Duration::ticks(1'000'000'000);
  record.num_decodes = 1;
  record.decode_context = core::Tokens(100);
  return record;
}

/// How many packets have an event of this type.
int events(PerfettoTrace& trace, std::int32_t type) {
  trace.settle();
  std::ostringstream out;
  trace.write(out);
  const std::string bytes = out.str();
  int number = 0;
  protozero::pbf_reader file(bytes);
  while (file.next(field::kTracePacket)) {
    auto packet = file.get_message();
    while (packet.next(field::kTrackEvent)) {
      auto event = packet.get_message();
      while (event.next(field::kType)) {
        number += event.get_enum() == type ? 1 : 0;
      }
    }
  }
  return number;
}

TEST(PerfettoTrace, HasSlicesOfRequestsAndSteps) {
  PerfettoTrace trace({});
  trace.on_request(request(0, 0), {});
  trace.on_steps(step(1));
  EXPECT_EQ(events(trace, field::kSliceBegin), 4);  // Queued, prefill, decode; the step.
  EXPECT_EQ(events(trace, field::kSliceEnd), 4);
  EXPECT_EQ(events(trace, field::kCounterEvent), 3);  // Waiting 1, 0; idle after the step.
  EXPECT_FALSE(trace.cut());
}

TEST(PerfettoTrace, KeepsWhatBeginsFirstWhateverTheOrder) {
  for (const bool forwards : {true, false}) {
    PerfettoOptions options;
    options.most_events = 40;  // Five requests.
    PerfettoTrace trace(options);
    for (std::uint32_t i = 0; i < 100; ++i) {
      const std::uint32_t id = forwards ? i : 99 - i;
      trace.on_request(request(id, 100 * std::int64_t{id}), {});
    }
    EXPECT_EQ(events(trace, field::kSliceBegin), 15) << forwards;
    EXPECT_EQ(events(trace, field::kInstant), 1);
    EXPECT_EQ(trace.cut(), at_ms(500));
  }
}

TEST(PerfettoTrace, AWindowCutsSlices) {
  PerfettoTrace trace({.from = at_ms(2), .until = at_ms(4)});
  trace.on_request(request(0, 0), {});   // Prefill and decode reach into it.
  trace.on_request(request(1, 50), {});  // Later.
  trace.on_steps(step(0));
  trace.on_steps(step(3));
  EXPECT_EQ(events(trace, field::kSliceBegin), 3);
}

}  // namespace
}  // namespace ridgeline::sim
