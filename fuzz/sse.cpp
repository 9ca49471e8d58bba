// Any bytes as a stream of events: cut in two at any place they give the same events, and no event
// passes the limits.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/check.hpp"
#include "openai/sse_parser.hpp"

namespace {

constexpr ridgeline::openai::SseLimits kLimits{
    .line_bytes = 64, .event_bytes = 128, .stream_bytes = 4096};

struct Reading {
  std::vector<std::string> events;
  std::string problem;

  friend bool operator==(const Reading&, const Reading&) = default;
};

Reading read(std::string_view text, std::size_t cut) {
  ridgeline::openai::SseParser parser(kLimits);
  Reading reading;
  const auto handler = [&](const ridgeline::openai::SseEvent& event) {
    RIDGELINE_CHECK(event.data.size() <= kLimits.event_bytes, "an event beyond the limit");
    RIDGELINE_CHECK(event.type.size() <= kLimits.line_bytes, "a type beyond the limit");
    reading.events.push_back(std::string(event.type) + "|" + std::string(event.data));
  };
  parser.feed(text.substr(0, cut), handler);
  parser.feed(text.substr(cut), handler);
  parser.end(handler);
  reading.problem = parser.problem();
  return reading;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Reading whole = read(text, size);
  for (std::size_t cut = 0; cut < size && cut < kLimits.event_bytes; ++cut) {
    const Reading cut_once = read(text, cut);
    // A stream that is too long is refused before its last piece is looked at.
    RIDGELINE_CHECK(size > kLimits.stream_bytes || cut_once == whole, "a cut changed the events");
  }
  return 0;
}
