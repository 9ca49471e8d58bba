#include "openai/sse_parser.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::openai {
namespace {

/// Events as "type|data", read in pieces of `piece` bytes.
std::vector<std::string> read(std::string_view text, std::size_t piece = 1000) {
  SseParser parser;
  std::vector<std::string> events;
  const auto handler = [&](const SseEvent& event) {
    events.push_back(std::string(event.type) + "|" + std::string(event.data));
  };
  for (std::size_t at = 0; at < text.size(); at += piece) {
    EXPECT_TRUE(parser.feed(text.substr(at, piece), handler));
  }
  parser.end(handler);
  EXPECT_EQ(parser.problem(), "");
  return events;
}

using Events = std::vector<std::string>;

TEST(SseParser, TakesEveryLineEndInPiecesOfAnySize) {
  for (const std::string_view end : {"\n", "\r", "\r\n"}) {
    std::string text;
    for (const std::string_view line : {"data: one", "", "data: two", "data: three", "", ""}) {
      text += std::string(line) + std::string(end);
    }
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
      EXPECT_EQ(read(text, piece), (Events{"|one", "|two\nthree"})) << piece;
    }
  }
}

TEST(SseParser, MixesLineEnds) {
  EXPECT_EQ(read("data: a\r\r\ndata: b\n\rdata: c\r\n\r\n", 1), (Events{"|a", "|b", "|c"}));
}

TEST(SseParser, TakesOneSpaceBehindTheColonAndNoMore) {
  EXPECT_EQ(read("data:x\n\ndata: x\n\ndata:  x\n\ndata:\tx\n\n"),
            (Events{"|x", "|x", "| x", "|\tx"}));
}

TEST(SseParser, ReadsOverCommentsAndWhatIsNotKnown) {
  EXPECT_EQ(read(": ping\n\n:data: x\nretry: 3\nid: 7\nfoo: bar\ndatax: y\ndata: z\n\n"),
            (Events{"|z"}));
}

TEST(SseParser, NamesTheTypeOfOneEventOnly) {
  EXPECT_EQ(read("event: error\ndata: {}\n\ndata: {}\n\n"), (Events{"error|{}", "|{}"}));
}

TEST(SseParser, AFieldWithoutColonIsEmpty) {
  EXPECT_EQ(read("data\n\ndata\ndata\n\n"), (Events{"|", "|\n"}));
}

TEST(SseParser, SkipsAByteOrderMarkAtTheStartAlone) {
  EXPECT_EQ(read("\xEF\xBB\xBF"
                 "data: a\n\n\xEF\xBB\xBF"
                 "data: b\n\n",
                 1),
            (Events{"|a"}));
}

TEST(SseParser, ABlankLineWithoutDataIsNoEvent) {
  EXPECT_EQ(read("\n\n\nevent: x\n\n\n"), Events());
}

TEST(SseParser, TheEndClosesAnEvent) {
  EXPECT_EQ(read("data: a\n\ndata: [DONE]"), (Events{"|a", "|[DONE]"}));
  EXPECT_EQ(read("data: a\n\ndata: [DONE]\n"), (Events{"|a", "|[DONE]"}));
}

TEST(SseParser, RefusesWhatPassesALimit) {
  const auto problem = [](std::string_view text, const SseLimits& limits) {
    SseParser parser(limits);
    int events = 0;
    EXPECT_FALSE(parser.feed(text, [&](const SseEvent&) { ++events; }));
    EXPECT_FALSE(parser.feed("data: b\n\n", [&](const SseEvent&) { ++events; }));
    EXPECT_EQ(events, 1);
    return parser.problem();
  };
  EXPECT_EQ(problem("data: a\n\ndata: 0123456789\n\n", {.line_bytes = 12}),
            "a line of more than 12 bytes");
  EXPECT_EQ(problem("data: a\n\ndata: 0123456789", {.line_bytes = 12}),
            "a line of more than 12 bytes");
  EXPECT_EQ(problem("data: a\n\ndata: 012\ndata: 345\n\n", {.event_bytes = 6}),
            "an event of more than 6 bytes");
  SseParser parser({.stream_bytes = 8});
  EXPECT_TRUE(parser.feed("data: a\n", [](const SseEvent&) {}));
  EXPECT_FALSE(parser.feed("\n", [](const SseEvent&) {}));
  EXPECT_EQ(parser.problem(), "the stream of more than 8 bytes");
}

TEST(SseParser, ALineOfTheLimitPasses) {
  SseParser parser({.line_bytes = 7});
  Events events;
  const auto handler = [&](const SseEvent& event) { events.emplace_back(event.data); };
  EXPECT_TRUE(parser.feed("data: ", handler));
  EXPECT_TRUE(parser.feed("a\n\n", handler));
  EXPECT_EQ(events, Events{"a"});
}

}  // namespace
}  // namespace ridgeline::openai
