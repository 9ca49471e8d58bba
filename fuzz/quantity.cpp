// Any bytes as a quantity: at most one kind takes them, and what it gives is finite and not
// negative.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/check.hpp"
#include "core/result.hpp"
#include "document/reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::array<std::string_view, 4> kKinds = {
      "bytes", "bytes_per_second", "flops_per_second", "seconds"};
  const std::string text(reinterpret_cast<const char*>(data), size);
  int taken = 0;
  for (const std::string_view kind : kKinds) {
    const auto value = ridgeline::document::parse_quantity(text, kind);
    if (value) {
      ++taken;
      RIDGELINE_CHECK(std::isfinite(*value) && *value >= 0.0, text);
      continue;
    }
    const std::string line = to_string(value.error().front());
    RIDGELINE_CHECK(
        std::none_of(line.begin(),
                     line.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }),
        "a message that is not one printable line");
  }
  RIDGELINE_CHECK(taken <= 1, text);
  return 0;
}
