// Hostile bytes as each kind of kernel table. Whatever they are: rows keep their limits, problems
// are lines of text, and every look-up in what was read gives a sound number.
#include "latency/measured/kernel_tables.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "latency/measured/lookup.hpp"
#include "latency/measured/measured_kernels.hpp"
#include "latency/measured/surfaces.hpp"

namespace {

namespace measured = ridgeline::latency::measured;

/// Grids of more cells than this are sound, but slow to smooth.
constexpr std::size_t kMostRows = 40;

void check_errors(const ridgeline::core::Errors& errors) {
  for (const auto& error : errors) {
    const std::string line = ridgeline::core::to_string(error);
    RIDGELINE_CHECK(line.find('\n') == std::string::npos, "an error of several lines");
    RIDGELINE_CHECK(ridgeline::core::valid_utf8_prefix(line) == line.size(),
                    "an error that is not text");
  }
}

void check_lookup(const measured::Lookup& lookup) {
  RIDGELINE_CHECK(std::isfinite(lookup.mfu) && lookup.mfu >= measured::kZeroMfu, "an MFU");
  RIDGELINE_CHECK(std::isfinite(lookup.distance) && lookup.distance >= 0.0, "a distance");
}

std::vector<measured::LookupOptions> all_options() {
  return {{.mode = measured::LookupMode::kFloor}, {.mode = measured::LookupMode::kInterpolate}};
}

void fuzz_gemm(const std::string& text) {
  const auto reading = measured::read_gemm_table(text, "t");
  check_errors(reading.errors);
  for (const auto& read : reading.tables) {
    for (const auto& options : all_options()) {
      for (const std::int64_t at : {1, 100, 1000000}) {
        const auto target = measured::find_gemm_column(read, at, at, options.mode);
        check_lookup(measured::look_up_gemm(read, target, at, options));
      }
    }
    measured::MeasuredGemm measured;
    for (const auto& row : read.rows()) {
      measured.points.push_back({.m = row.m, .k = row.k, .n = row.n, .us = row.latency_us});
    }
    if (measured.points.size() <= kMostRows / 4) {
      const measured::GemmSurface surface(measured, 1.0, [](const auto&) { return 1.0; });
      RIDGELINE_CHECK(surface.us(1, 1, 1) >= 0.0, "a time");
    }
  }
}

void fuzz_prefill(const std::string& text) {
  const auto reading = measured::read_prefill_table(text, "t", {8, 8, 64});
  check_errors(reading.errors);
  for (const auto& read : reading.tables) {
    std::vector<measured::PrefillPoint> points;
    for (const auto& row : read.rows()) {
      points.push_back({.seq_len = row.seq_len, .us = row.latency_us});
    }
    const measured::PrefillCurve curve(points);
    for (const std::int64_t at : {1, 3000, 1000000}) {
      for (const auto& options : all_options()) {
        check_lookup(measured::look_up_prefill(read, at, options));
      }
      const double us = curve.us(static_cast<double>(at));
      RIDGELINE_CHECK(us >= 0.0 && us >= curve.us(0.0), "a time that falls");
    }
  }
}

void fuzz_decode(const std::string& text) {
  const auto reading = measured::read_decode_table(text, "t", {8, 8, 64}, 1);
  check_errors(reading.errors);
  for (const auto& read : reading.tables) {
    for (const std::int64_t at : {0, 1, 3000, 1000000}) {
      for (const auto& options : all_options()) {
        check_lookup(measured::look_up_decode(read, at, at, options));
      }
    }
    measured::MeasuredDecode measured;
    for (const auto& row : read.rows()) {
      measured.points.push_back(
          {.batch_size = row.batch_size, .kv_len = row.kv_len, .us = row.latency_us});
    }
    if (measured.points.size() <= kMostRows) {
      measured.host_timed = text.size() % 2 == 0;
      const measured::DecodeSurface surface(measured);
      double last = 0.0;
      for (std::size_t tick = 0; tick < surface.kv_ticks().size(); ++tick) {
        const double us = surface.us(surface.place(3), tick);
        RIDGELINE_CHECK(us >= last, "a time that falls");
        last = us;
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string text(data + 1, data + size);
  const auto name =
      ridgeline::latency::measured::parse_attention_file_name(text.substr(0, text.find('\n')));
  if (!name) {
    check_errors(name.error());
  }
  switch (data[0] % 3) {
    case 0:
      fuzz_gemm(text);
      break;
    case 1:
      fuzz_prefill(text);
      break;
    default:
      fuzz_decode(text);
      break;
  }
  return 0;
}
