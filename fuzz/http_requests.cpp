// Any bytes as requests over HTTP: in pieces of any size they give the same requests, what is
// refused then is refused whole, and nothing is beyond the limits.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/check.hpp"
#include "serve/net/http_parser.hpp"

namespace {

using ridgeline::serve::net::HttpLimits;
using ridgeline::serve::net::HttpParser;
using ridgeline::serve::net::HttpRequest;

constexpr HttpLimits kLimits{.header_bytes = 512, .headers = 8, .body_bytes = 256};
constexpr std::size_t kMostRequests = 64;

struct Reading {
  std::vector<std::string> requests;
  int refused_with = 0;  ///< 0: nothing was.

  friend bool operator==(const Reading&, const Reading&) = default;
};

void check(const HttpRequest& request) {
  RIDGELINE_CHECK(request.body.size() <= kLimits.body_bytes, "a body beyond the limit");
  RIDGELINE_CHECK(request.headers.size() <= kLimits.headers, "headers beyond the limit");
  std::size_t bytes = 0;
  for (const auto& [name, value] : request.headers) {
    bytes += name.size() + value.size();
    RIDGELINE_CHECK(
        std::ranges::none_of(value, [](char c) { return c == '\0' || c == '\r' || c == '\n'; }),
        "a line's end within a header");
  }
  RIDGELINE_CHECK(bytes <= kLimits.header_bytes, "a head beyond the limit");
}

/// As a connection does it: what is not used comes again with more behind it.
Reading read(std::string_view text, std::size_t piece) {
  HttpParser parser(kLimits);
  Reading reading;
  std::string waiting;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    waiting += text.substr(at, piece);
    while (!waiting.empty()) {
      std::size_t used = 0;
      const HttpParser::Status status = parser.feed(waiting, used);
      RIDGELINE_CHECK(used <= waiting.size(), "more used than there is");
      waiting.erase(0, used);
      if (status == HttpParser::Status::kMore) {
        break;
      }
      if (status == HttpParser::Status::kBad) {
        reading.refused_with = parser.error_status();
        RIDGELINE_CHECK(reading.refused_with >= 400 && reading.refused_with < 600, "no error");
        return reading;
      }
      const HttpRequest request = parser.take();
      check(request);
      reading.requests.push_back(request.method + " " + request.path + "?" + request.query + " " +
                                 request.body);
      if (reading.requests.size() >= kMostRequests) {
        return reading;
      }
    }
  }
  return reading;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Reading whole = read(text, std::max<std::size_t>(size, 1));
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{64}}) {
    const Reading cut = read(text, piece);
    RIDGELINE_CHECK(cut.requests == whole.requests, "pieces changed the requests");
    // A line in pieces is not looked at again before the head's end is there, or its limit.
    RIDGELINE_CHECK(cut.refused_with == 0 || whole.refused_with != 0, "refused in pieces alone");
  }
  return 0;
}
