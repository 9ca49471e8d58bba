#include "observe/record.hpp"

#include <string>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"

namespace ridgeline::observe {
namespace {

core::SimTime at_us(std::int64_t us) {
  return core::SimTime::at(core::Duration::microseconds(us));
}

TEST(Record, ARowHasTimesSinceItsSending) {
  Row row{.request = {}, .stage = 1, .due = at_us(500'000)};
  row.request.id = core::RequestId(7);
  row.request.session = core::SessionId(2);
  row.request.turn = 3;
  row.request.prompt_tokens = core::Tokens(8);
  row.request.output_tokens = core::Tokens(2);
  row.request.max_tokens = core::Tokens(2);
  row.request.prompt = {
      {.content = 5, .length = core::Tokens(4)},
      {.content = domain::output_content(core::RequestId(6)), .length = core::Tokens(3)}};
  row.tells_prompt = true;
  row.sent = at_us(500'250);
  row.connect = core::Duration::microseconds(200);
  row.status = 200;
  row.answer = {.first_event = at_us(510'250),
                .first_text = at_us(510'250),
                .last_event = at_us(515'000),
                .end = at_us(515'500),
                .events = 2,
                .gaps = {core::Duration::microseconds(4750)},
                .prompt_tokens = 8,
                .completion_tokens = 2,
                .cached_tokens = {},
                .finish_reason = "length",
                .request_id = "cmpl-1",
                .text = "a b",
                .ended = StreamEnd::kDone,
                .error = {}};
  EXPECT_EQ(row_line(row),
            "{\"id\":7,\"stage\":1,\"session\":2,\"turn\":3,\"due_s\":0.5,\"send_s\":0.50025,"
            "\"connect_ms\":0.2,\"held_ms\":0,\"lag_ms\":0.05,\"attempt\":1,\"status\":200,"
            "\"ended\":\"done\",\"input_tokens\":8,\"prompt_tokens\":8,\"output_tokens\":2,"
            "\"completion_tokens\":2,\"ttft_ms\":10,\"first_text_ms\":10,\"last_ms\":14.75,"
            "\"end_ms\":15.25,\"events\":2,\"coalesced\":0,\"gaps_us\":[4750],"
            "\"finish_reason\":\"length\",\"request_id\":\"cmpl-1\",\"prompt\":[[5,4],[-7,3]],"
            "\"warmup\":false}\n");
}

TEST(Record, ARequestThatWasNeverSentHasNoTimes) {
  Row row{.request = {}, .due = at_us(0)};
  row.request.id = core::RequestId(0);
  row.answer.error = "refused";
  row.answer.ended = StreamEnd::kError;
  EXPECT_EQ(row.lag(), core::Duration());
  const std::string line = row_line(row);
  EXPECT_EQ(line.find("send_s"), std::string::npos);
  EXPECT_EQ(line.find("_ms\":n"), std::string::npos);
  EXPECT_NE(line.find("\"error\":\"refused\",\"ended\":\"error\""), std::string::npos);
}

TEST(Record, TellsTheDate) {
  EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(1'709'251'199'999'999'999), "2024-02-29T23:59:59Z");
}

TEST(Record, TheEndSaysWhetherTimesAreToBeTrusted) {
  EXPECT_NE(tail_line({}).find("\"sound\":true,\"unsound\":[]"), std::string::npos);
  EXPECT_NE(tail_line({.unsound = {"late"}}).find("\"sound\":false,\"unsound\":[\"late\"]"),
            std::string::npos);
}

}  // namespace
}  // namespace ridgeline::observe
