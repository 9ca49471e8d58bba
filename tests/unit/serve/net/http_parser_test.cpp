#include "serve/net/http_parser.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace ridgeline::serve::net {
namespace {

using Status = HttpParser::Status;

Status feed_all(HttpParser& parser, std::string_view text) {
  std::size_t used = 0;
  return parser.feed(text, used);
}

int status_of(std::string_view text, const HttpLimits& limits = {}) {
  HttpParser parser(limits);
  return feed_all(parser, text) == Status::kBad ? parser.error_status() : 0;
}

TEST(HttpParser, ReadsARequest) {
  HttpParser parser({});
  ASSERT_EQ(feed_all(parser,
                     "POST /a/b?c=d HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nX-A: 1\r\n"
                     "x-a: 2\r\n\r\nabc"),
            Status::kDone);
  const HttpRequest request = parser.take();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/a/b");
  EXPECT_EQ(request.query, "c=d");
  EXPECT_EQ(request.body, "abc");
  EXPECT_EQ(request.header("x-a"), "2");
  EXPECT_EQ(request.header("none"), "");
  EXPECT_TRUE(request.keep_alive);
}

/// Feeds one byte after the other, until there is a request.
Status feed_bytes(HttpParser& parser, std::string_view text) {
  std::string kept;
  Status status = Status::kMore;
  for (const char c : text) {
    if (status != Status::kMore) {
      break;
    }
    kept += c;
    std::size_t used = 0;
    status = parser.feed(kept, used);
    kept.erase(0, used);
  }
  return status;
}

TEST(HttpParser, TakesBytesAsTheyCome) {
  HttpParser parser({});
  ASSERT_EQ(feed_bytes(parser,
                       "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nGET"),
            Status::kDone);
  EXPECT_EQ(parser.take().body, "abcde");
}

TEST(HttpParser, TakesTheBytesOfALastChunkThatIsTheFirst) {
  HttpParser parser({});
  ASSERT_EQ(
      feed_bytes(parser, "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n"),
      Status::kDone);
  EXPECT_EQ(parser.take().body, "");
}

TEST(HttpParser, LeavesTheNextRequest) {
  constexpr std::string_view kTwo = "GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n";
  HttpParser parser({});
  std::size_t used = 0;
  ASSERT_EQ(parser.feed(kTwo, used), Status::kDone);
  EXPECT_EQ(parser.take().path, "/a");
  ASSERT_EQ(parser.feed(kTwo.substr(used), used), Status::kDone);
  EXPECT_EQ(parser.take().path, "/b");
}

TEST(HttpParser, RefusesWhatIsNoRequest) {
  EXPECT_EQ(status_of("GET /a HTTP/1.1\nHost: x\n\n"), 400);
  EXPECT_EQ(status_of("GET /a HTTP/1.1\r\nA\x01: b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("PRI * HTTP/2.0\r\n\r\n"), 400);
  EXPECT_EQ(status_of("POST /a HTTP/1.1\r\nContent-Length: 1\r\n"
                      "Transfer-Encoding: chunked\r\n\r\n"),
            400);
  EXPECT_EQ(status_of("POST /a HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"), 400);
  EXPECT_EQ(status_of("POST /a HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n"), 400);
}

TEST(HttpParser, RefusesLongExtensionsOfChunks) {
  const std::string head = "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;";
  EXPECT_EQ(status_of(head + std::string(1100, 'a') + "\r\nx\r\n0\r\n\r\n"), 400);
  EXPECT_EQ(status_of(head + std::string(5000, 'a')), 400);  // And no end of it.
  HttpParser parser({});
  EXPECT_EQ(feed_all(parser, head + "a=b\r\nx\r\n0\r\n\r\n"), Status::kDone);
  EXPECT_EQ(parser.take().body, "x");
}

TEST(HttpParser, HasLimits) {
  EXPECT_EQ(status_of("GET /a HTTP/1.1\r\nA: " + std::string(100, 'x') + "\r\n\r\n",
                      {.header_bytes = 50}),
            431);
  EXPECT_EQ(status_of("GET /a HTTP/1.1\r\nA: 1\r\nB: 2\r\n\r\n", {.headers = 1}), 431);
  EXPECT_EQ(status_of("POST /a HTTP/1.1\r\nContent-Length: 11\r\n\r\n", {.body_bytes = 10}), 413);
}

TEST(HttpParser, CountsTheWholeHeadHoweverItComes) {
  const HttpLimits limits = {.header_bytes = 64};
  const std::string longest =
      "GET /" + std::string(30, 'a') + " HTTP/1.1\r\nX: " + std::string(11, 'b') + "\r\n\r\n";
  ASSERT_EQ(longest.size(), 64);
  std::string longer = longest;
  longer.insert(5, "a");
  for (const auto& [text, expected] : {std::pair(longest, Status::kDone), {longer, Status::kBad}}) {
    HttpParser whole(limits);
    EXPECT_EQ(feed_all(whole, text), expected);
    HttpParser pieces(limits);
    EXPECT_EQ(feed_bytes(pieces, text), expected);
  }
}

TEST(HttpParser, KnowsTheClientsThatWait) {
  HttpParser parser({});
  EXPECT_EQ(
      feed_all(parser, "POST /a HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"),
      Status::kMore);
  EXPECT_TRUE(parser.has_header());
  EXPECT_TRUE(parser.wants_continue());
  EXPECT_FALSE(parser.wants_continue());
}

TEST(HttpParser, KeepsConnectionsAsTheyAsk) {
  HttpParser parser({});
  feed_all(parser, "GET /a HTTP/1.0\r\n\r\n");
  const HttpRequest old = parser.take();
  EXPECT_TRUE(old.is_http_1_0);
  EXPECT_FALSE(old.keep_alive);
  feed_all(parser, "GET http://h/b?q HTTP/1.1\r\nConnection: close\r\n\r\n");
  const HttpRequest last = parser.take();
  EXPECT_FALSE(last.keep_alive);
  EXPECT_EQ(last.path, "/b");
}

}  // namespace
}  // namespace ridgeline::serve::net
