#include "report/request_log.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <ios>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <string_view>

#include <fmt/core.h>
#include <fmt/format.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::report {
namespace {

constexpr std::array<std::string_view, 13> kFields = {"request_id",
                                                      "arrival_s",
                                                      "input_tokens",
                                                      "output_tokens",
                                                      "cached_tokens",
                                                      "preemptions",
                                                      "outcome",
                                                      "queue_time_ms",
                                                      "ttft_ms",
                                                      "tpot_ms",
                                                      "e2e_ms",
                                                      "server_ttft_ms",
                                                      "server_e2e_ms"};

using Buffer = fmt::memory_buffer;

/// Picoseconds as an exact decimal in a unit of 10^digits picoseconds, without trailing zeros.
void append_decimal(Buffer& buffer, std::int64_t picoseconds, int digits) {
  std::int64_t unit = 1;
  for (int i = 0; i < digits; ++i) {
    unit *= 10;
  }
  fmt::format_to(std::back_inserter(buffer), "{}", picoseconds / unit);
  std::int64_t fraction = picoseconds % unit;
  if (fraction == 0) {
    return;
  }
  while (fraction % 10 == 0) {
    fraction /= 10;
    --digits;
  }
  fmt::format_to(std::back_inserter(buffer), ".{:0{}}", fraction, digits);
}

constexpr int kDigitsPerSecond = 12;
constexpr int kDigitsPerMillisecond = 9;

/// The fields of one request in the order of kFields, as text that is both JSON and CSV; absent
/// numbers as `missing`, the outcome in `quote` marks.
class Fields {
 public:
  Fields(Buffer& buffer, std::string_view missing, std::string_view quote)
      : buffer_(buffer), missing_(missing), quote_(quote) {}

  /// Writes each field after `before(index)`.
  template <class Before>
  void write(const domain::RequestRecord& record,
             const metrics::RequestMetrics& metrics,
             Before before) {
    std::size_t index = 0;
    const auto integer = [&](std::int64_t value) {
      before(index++);
      fmt::format_to(std::back_inserter(buffer_), "{}", value);
    };
    const auto milliseconds = [&](const std::optional<core::Duration>& value) {
      before(index++);
      if (value) {
        append_decimal(buffer_, value->count(), kDigitsPerMillisecond);
      } else {
        buffer_.append(missing_);
      }
    };
    integer(record.id.value());
    before(index++);
    append_decimal(buffer_, record.arrival.count(), kDigitsPerSecond);
    integer(record.prompt_tokens.value());
    integer(record.output_tokens.value());
    integer(record.cached_tokens.value());
    integer(record.preemptions);
    before(index++);
    buffer_.append(quote_);
    buffer_.append(
        std::string_view(metrics::kOutcomeNames[static_cast<std::size_t>(record.outcome)]));
    buffer_.append(quote_);
    milliseconds(metrics.queue_time);
    milliseconds(metrics.ttft);
    milliseconds(metrics.tpot);
    milliseconds(metrics.e2e);
    milliseconds(metrics.server_ttft);
    milliseconds(metrics.server_e2e);
  }

 private:
  Buffer& buffer_;
  std::string_view missing_;
  std::string_view quote_;
};

class RequestLog final : public metrics::Listener {
 public:
  RequestLog(RequestLogFormat format, std::ostream& out) : format_(format), out_(out) {
    if (format_ == RequestLogFormat::kCsv) {
      for (std::size_t i = 0; i < kFields.size(); ++i) {
        append(i == 0 ? "" : ",");
        append(kFields[i]);
      }
      append("\n");
    }
  }
  RequestLog(const RequestLog&) = delete;
  RequestLog& operator=(const RequestLog&) = delete;
  ~RequestLog() override { flush(); }

  void on_request(const domain::RequestRecord& record,
                  const metrics::RequestMetrics& metrics) override {
    if (format_ == RequestLogFormat::kCsv) {
      Fields(buffer_, "", "").write(record, metrics, [this](std::size_t index) {
        append(index == 0 ? "" : ",");
      });
      append("\n");
    } else {
      Fields(buffer_, "null", "\"").write(record, metrics, [this](std::size_t index) {
        append(index == 0 ? "{\"" : ",\"");
        append(kFields[index]);
        append("\":");
      });
      append("}\n");
    }
    constexpr std::size_t kFlushBytes = 1U << 16U;
    if (buffer_.size() >= kFlushBytes) {
      flush();
    }
  }

 private:
  void append(std::string_view text) { buffer_.append(text); }
  void flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

  RequestLogFormat format_;
  std::ostream& out_;
  Buffer buffer_;
};

}  // namespace

std::unique_ptr<metrics::Listener> make_request_log(RequestLogFormat format, std::ostream& out) {
  return std::make_unique<RequestLog>(format, out);
}

core::Result<RequestLogFormat> request_log_format(std::string_view path) {
  if (path.ends_with(".csv")) {
    return RequestLogFormat::kCsv;
  }
  // Standard output has no extension.
  if (path.ends_with(".jsonl") || path.ends_with(".ndjson") || path == "-") {
    return RequestLogFormat::kJsonLines;
  }
  return core::fail(
      core::ErrorCode::kUsage,
      fmt::format("'{}' does not say a format, expected .csv, .jsonl or .ndjson", path));
}

}  // namespace ridgeline::report
