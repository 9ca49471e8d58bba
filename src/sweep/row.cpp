#include "sweep/row.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/json_writer.hpp"
#include "document/node_json.hpp"
#include "sweep/shard_file.hpp"

namespace ridgeline::sweep {
namespace {

constexpr std::array<const char*, kNumStatuses> kNames = {"ok", "infeasible", "refused", "failed"};
constexpr std::string_view kOrdinal = "{\"ordinal\":";
constexpr std::string_view kId = ",\"id\":\"";
constexpr std::string_view kStatus = ",\"status\":\"";
// No text in JSON holds this: a quote inside one follows a backslash.
constexpr std::string_view kRunInfo = ",\"run_info\":{\"wall_time_s\":";
constexpr std::string_view kReason = ",\"reason\":";
constexpr std::string_view kChecksum = ",\"checksum\":\"";
constexpr std::string_view kEnd = "}}";
constexpr std::string_view kChecksumEnd = "\"}}";

Status status_of(const Row& row) {
  if (row.errors.empty()) {
    return Status::kOk;
  }
  const auto has = [&](core::ErrorCode code) {
    return std::ranges::find(row.errors, code, &core::Error::code) != row.errors.end();
  };
  return has(core::ErrorCode::kInternal) ? Status::kFailed
         : has(core::ErrorCode::kUsage)  ? Status::kRefused
                                         : Status::kInfeasible;
}

/// Takes `prefix` off; whether it was there.
bool skip(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) {
    return false;
  }
  text.remove_prefix(prefix.size());
  return true;
}

template <class T>
bool take_number(std::string_view& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) {
    return false;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

/// Takes the text up to the next quote.
std::string_view take_text(std::string_view& text) {
  const std::size_t end = std::min(text.find('"'), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

}  // namespace

Status outcome_of(const std::array<std::int64_t, kNumStatuses>& by_status) {
  const auto any = [&](Status status) { return by_status[static_cast<std::size_t>(status)] > 0; };
  return any(Status::kFailed)    ? Status::kFailed
         : !any(Status::kOk)     ? Status::kInfeasible
         : any(Status::kRefused) ? Status::kRefused
                                 : Status::kOk;
}

const char* name(Status status) {
  return kNames[static_cast<std::size_t>(status)];
}

std::string line_of(const Row& row) {
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  json.begin_object()
      .member("ordinal", row.ordinal)
      .member("id", row.id)
      .member("status", name(status_of(row)))
      .key("point");
  document::write(row.point, json);
  if (row.errors.empty()) {
    json.key("result");
    document::write(row.result, json);
  } else {
    const core::Error& error = row.errors.front();
    json.member("reason", error.field.empty() ? error.message : error.field + ": " + error.message);
  }
  json.key("run_info").begin_object().member("wall_time_s", row.wall_time_s).end_object();
  json.end_object();
  std::string line = json.text();
  line.resize(line.size() - kEnd.size());
  return fmt::format("{}{}{}{}\n", line, kChecksum, checksum_of(line), kChecksumEnd);
}

std::optional<RowView> read_line(std::string_view line) {
  RowView row;
  std::string_view rest = line;
  if (!skip(rest, kOrdinal) || !take_number(rest, row.ordinal) || !skip(rest, kId)) {
    return std::nullopt;
  }
  row.id = take_text(rest);
  if (!skip(rest, kStatus)) {
    return std::nullopt;
  }
  const auto* const status = std::ranges::find(kNames, take_text(rest));
  const std::size_t info = line.rfind(kRunInfo);
  if (status == kNames.end() || info == std::string_view::npos) {
    return std::nullopt;
  }
  row.status = static_cast<Status>(status - kNames.begin());
  row.without_run_info = line.substr(0, info);
  const std::size_t reason = row.without_run_info.rfind(kReason);
  if (row.status != Status::kOk && reason != std::string_view::npos) {
    row.reason = row.without_run_info.substr(reason + kReason.size());
  }
  rest = line.substr(info + kRunInfo.size());
  if (!take_number(rest, row.wall_time_s)) {
    return std::nullopt;
  }
  const std::string_view sealed = line.substr(0, line.size() - rest.size());
  row.has_checksum = skip(rest, kChecksum);
  if (row.has_checksum ? take_text(rest) != checksum_of(sealed) || rest != kEnd : rest != kEnd) {
    return std::nullopt;
  }
  return row;
}

}  // namespace ridgeline::sweep
