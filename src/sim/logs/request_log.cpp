#include "sim/logs/request_log.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <ios>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <fmt/format.h>

#include "cluster/request_story.hpp"
#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "document/json_writer.hpp"
#include "domain/label_set.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/summary.hpp"
#include "workload/item.hpp"
#include "workload/source.hpp"
#include "workload/traces/formats/request_jsonl.hpp"

namespace ridgeline::sim {
namespace {

/// What is measured, in the order of Measured::write(): the id, the arrival and the lengths, which
/// our own format for traces reads back, then what it reads over.
constexpr std::size_t kReadBack = 3;
constexpr auto kMeasured = [] {
  static_assert(workload::kJsonlKeys[0] == "arrival_s" &&
                workload::kJsonlKeys[2] == "output_tokens");
  std::array<std::string_view, workload::kMeasuredKeys.size() + kReadBack> keys{};
  auto next = keys.begin();
  *next++ = workload::kMeasuredKeys.front();
  next = std::copy_n(workload::kJsonlKeys.begin(), kReadBack, next);
  std::copy(workload::kMeasuredKeys.begin() + 1, workload::kMeasuredKeys.end(), next);
  return keys;
}();
/// What was asked for; in CSV these columns, then the labels.
constexpr std::array<std::string_view, 5> kAsked = {
    "max_tokens", "session", "turn", "priority", "images"};
/// Those of the labels that are texts.
constexpr std::array kTextLabels = {domain::Label::kSloClass,
                                    domain::Label::kTenant,
                                    domain::Label::kModel,
                                    domain::Label::kAdapter};

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

/// The measured fields of one request, as text that is both JSON and CSV; absent numbers as
/// `missing`, the outcome in `quote` marks.
class Measured {
 public:
  Measured(Buffer& buffer, std::string_view missing, std::string_view quote)
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

constexpr std::string_view kAttempts = "attempts";
/// In the order of cluster::Share.
constexpr std::array<std::string_view, 3> kShares = {"whole", "prefill", "decode"};

/// The parts of a request's TTFT on the client's clock: those of its story, and the way back. None
/// where it has no first token, or no answer.
std::array<std::optional<core::Duration>, 5> ttft_parts(const cluster::RequestStory& story,
                                                        const metrics::RequestMetrics& metrics) {
  if (!story.ttft || !metrics.ttft) {
    return {};
  }
  const cluster::TtftParts& parts = *story.ttft;
  const core::Duration delivery = *metrics.ttft - parts.sum();
  RIDGELINE_CHECK(delivery >= core::Duration(),
                  "a first token reaches the client after it is made");
  return {parts.gateway, parts.queue, parts.prefill, parts.transfer, delivery};
}

class LogOfRequests final : public RequestLog {
 public:
  LogOfRequests(RequestLogFormat format,
                const workload::Source& source,
                std::ostream& out,
                bool of_cluster)
      : format_(format), source_(source), out_(out), of_cluster_(of_cluster) {
    if (format_ == RequestLogFormat::kCsv) {
      write_header();
    } else if (source_.prompts_hold_answers()) {
      // Prompts name earlier requests by their places in one group, which is the whole file.
      append("{\"ridgeline_workload\":1,\"groups\":true}\n");
    }
  }
  LogOfRequests(const LogOfRequests&) = delete;
  LogOfRequests& operator=(const LogOfRequests&) = delete;
  ~LogOfRequests() override {
    // In an interrupted run some requests were never sent.
    for (const Pending& pending : pending_) {
      append(pending.row);
    }
    flush();
  }

  void on_arrival(const domain::Request& request) override {
    RIDGELINE_CHECK(request.id.value() == first_ + pending_.size(), "requests out of order");
    pending_.emplace_back().request = request;
  }

  void on_story(const cluster::RequestStory& story) override { stories_[story.id] = story; }

  void on_request(const domain::RequestRecord& record,
                  const metrics::RequestMetrics& metrics) override {
    const std::size_t place = record.id.value() - first_;
    RIDGELINE_CHECK(place < pending_.size(), "the end of a request that has not arrived");
    Pending& ended = pending_[place];
    const std::size_t before = buffer_.size();
    write_row(ended.request, record, metrics);
    if (place > 0) {
      ended.row.assign(buffer_.data() + before, buffer_.size() - before);
      ended.request = {};
      buffer_.resize(before);
      return;
    }
    do {
      pending_.pop_front();
      ++first_;
      if (pending_.empty()) {
        break;
      }
      append(pending_.front().row);
    } while (!pending_.front().row.empty());
    constexpr std::size_t kFlushBytes = 1U << 16U;
    if (buffer_.size() >= kFlushBytes) {
      flush();
    }
  }

 private:
  /// A request that has not ended, or one behind such a one: its row.
  struct Pending {
    domain::Request request;
    std::string row;
  };

  void append(std::string_view text) { buffer_.append(text); }
  void append(std::int64_t number) { fmt::format_to(std::back_inserter(buffer_), "{}", number); }

  void write_header() {
    const auto names = [this](const auto& list) {
      for (const auto& name : list) {
        append(buffer_.size() == 0 ? "" : ",");
        append(name);
      }
    };
    names(kMeasured);
    names(kAsked);
    for (const auto label : kTextLabels) {
      append(",");
      append(domain::kLabelNames[static_cast<std::size_t>(label)]);
    }
    if (of_cluster_) {
      for (const std::string_view key : workload::kClusterKeys) {
        if (key != kAttempts) {
          append(",");
          append(key);
        }
      }
    }
    append("\n");
  }

  void write_row(const domain::Request& request,
                 const domain::RequestRecord& record,
                 const metrics::RequestMetrics& metrics) {
    if (format_ == RequestLogFormat::kCsv) {
      Measured(buffer_, "", "").write(record, metrics, [this](std::size_t index) {
        append(index == 0 ? "" : ",");
      });
      write_cells(request);
      write_story(record, metrics);
      append("\n");
    } else {
      Measured(buffer_, "null", "\"").write(record, metrics, [this](std::size_t index) {
        append(index == 0 ? "{\"" : ",\"");
        append(kMeasured[index]);
        append("\":");
      });
      write_members(request, record, metrics);
    }
  }

  /// The text of a label; empty where the request has none.
  [[nodiscard]] std::string_view text_of(const domain::Request& request,
                                         domain::Label label) const {
    if (!request.label_set.valid()) {
      return {};
    }
    const std::int32_t value = (*source_.label_sets())[request.label_set].of(label);
    return value == domain::LabelSet::kOther     ? std::string_view("(other)")
           : value == domain::LabelSet::kNoLabel ? std::string_view()
                                                 : source_.labels().name(value);
  }

  void write_cells(const domain::Request& request) {
    append(",");
    append(request.max_tokens.value());
    append(",");
    if (request.session.valid()) {
      append(request.session.value());
      append(",");
      append(request.turn);
    } else {
      append(",");
    }
    append(",");
    append(request.priority);
    append(",");
    append(request.images);
    for (const auto label : kTextLabels) {
      append(",");
      append(core::csv_cell(text_of(request, label)));
    }
  }

  /// What of a cluster's request stands behind the rest, where there is one.
  void write_story(const domain::RequestRecord& record, const metrics::RequestMetrics& metrics) {
    if (!of_cluster_) {
      return;
    }
    const auto found = stories_.extract(record.id);
    const cluster::RequestStory story = found.empty() ? cluster::RequestStory() : found.mapped();
    const bool is_csv = format_ == RequestLogFormat::kCsv;
    const std::string_view missing = is_csv ? "" : "null";
    std::size_t index = 0;
    const auto before = [&] {
      append(",");
      if (!is_csv) {
        fmt::format_to(std::back_inserter(buffer_), "\"{}\":", workload::kClusterKeys[index]);
      }
      ++index;
    };
    before();
    if (record.instance.valid()) {
      append(std::int64_t{record.instance.value()});
    } else {
      append(missing);
    }
    before();
    append(static_cast<std::int64_t>(story.attempts.size()));
    for (const std::optional<core::Duration>& part : ttft_parts(story, metrics)) {
      before();
      if (part) {
        append_decimal(buffer_, part->count(), kDigitsPerMillisecond);
      } else {
        append(missing);
      }
    }
    if (!is_csv) {
      before();
      write_attempts(story);
    }
  }

  void write_attempts(const cluster::RequestStory& story) {
    append("[");
    for (const cluster::Attempt& attempt : story.attempts) {
      append(&attempt == story.attempts.data() ? "" : ",");
      fmt::format_to(std::back_inserter(buffer_),
                     R"({{"instance":{},"share":"{}","sent_s":)",
                     attempt.instance.value(),
                     kShares[static_cast<std::size_t>(attempt.share)]);
      append_decimal(buffer_, attempt.sent.count(), kDigitsPerSecond);
      fmt::format_to(
          std::back_inserter(buffer_), R"(,"tokens":{},"end_s":)", attempt.tokens.value());
      append_decimal(buffer_, attempt.end.count(), kDigitsPerSecond);
      fmt::format_to(std::back_inserter(buffer_),
                     R"(,"why":"{}"}})",
                     metrics::kOutcomeNames[static_cast<std::size_t>(attempt.why)]);
    }
    append("]");
  }

  void write_members(const domain::Request& request,
                     const domain::RequestRecord& record,
                     const metrics::RequestMetrics& metrics) {
    const auto member = [this](std::string_view name, std::int64_t value) {
      fmt::format_to(std::back_inserter(buffer_), ",\"{}\":{}", name, value);
    };
    if (request.max_tokens != record.output_tokens) {
      member(kAsked[0], request.max_tokens.value());
    }
    if (request.session.valid()) {
      member(kAsked[1], request.session.value());
      member(kAsked[2], request.turn);
    }
    if (request.priority != 0) {
      member(kAsked[3], request.priority);
    }
    if (request.images != 0) {
      member(kAsked[4], request.images);
    }
    for (const auto label : kTextLabels) {
      if (const std::string_view text = text_of(request, label); !text.empty()) {
        document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
        json.value(text);
        fmt::format_to(std::back_inserter(buffer_),
                       ",\"{}\":{}",
                       domain::kLabelNames[static_cast<std::size_t>(label)],
                       json.text());
      }
    }
    if (source_.prompts_hold_answers() && request.id.value() > 0) {
      member("group", request.id.value());
    }
    write_prompt(request);
    write_story(record, metrics);
    append("}\n");
  }

  /// The content -1-k is the answer to request k.
  void write_prompt(const domain::Request& request) {
    if (request.prompt.empty()) {
      return;
    }
    append(",\"prompt\":");
    char separator = '[';
    for (const auto& segment : request.prompt) {
      const bool is_answer = workload::is_output(segment.content);
      const auto name = static_cast<std::int64_t>(
          is_answer ? segment.content ^ workload::output_of(0) : segment.content);
      fmt::format_to(std::back_inserter(buffer_),
                     "{}[{},{}]",
                     separator,
                     is_answer ? -1 - name : name,
                     segment.length.value());
      separator = ',';
    }
    append("]");
  }

  void flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

  RequestLogFormat format_;
  const workload::Source& source_;
  std::ostream& out_;
  Buffer buffer_;
  std::deque<Pending> pending_;  ///< From the oldest request under way on.
  std::size_t first_ = 0;        ///< The id of the first of them.
  bool of_cluster_;
  std::map<core::RequestId, cluster::RequestStory> stories_;  ///< Whose records have not come.
};

}  // namespace

std::unique_ptr<RequestLog> make_request_log(RequestLogFormat format,
                                             const workload::Source& source,
                                             std::ostream& out,
                                             bool of_cluster) {
  return std::make_unique<LogOfRequests>(format, source, out, of_cluster);
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

}  // namespace ridgeline::sim
