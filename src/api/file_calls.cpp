#include "api/file_calls.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/call.hpp"
#include "api/call_document.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "report/figures/figure.hpp"
#include "report/html_report.hpp"
#include "report/result_json.hpp"
#include "report/saved_result.hpp"
#include "report/trace_report.hpp"
#include "workload/trace_stats.hpp"
#include "workload/trace_tree.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::api {
namespace {

constexpr std::int64_t kLargestBlock = 1 << 20;
constexpr std::int64_t kMostSeed = std::int64_t{1} << 53;

/// The only file of a verb.
std::string take_file(CallDocument& document, core::Errors& errors) {
  std::string file = document.take_text("file");
  if (file.empty()) {
    errors.push_back({.field = "file", .message = "missing, expected the path of a file"});
  }
  return file;
}

}  // namespace

core::Result<Reply> describe_trace(CallDocument& document) {
  core::Errors errors;
  const std::string file = take_file(document, errors);
  workload::ReadOptions options;
  const std::int64_t block = document.take_count("block_size", 0, kLargestBlock);
  options.seed = static_cast<std::uint64_t>(document.take_count("seed", 0, kMostSeed));
  options.skip_bad_rows = document.take_bool("skip_bad_rows", false);
  document.end();
  errors.insert(errors.end(), document.errors().begin(), document.errors().end());
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  const auto format = workload::format_of(file);
  if (!format) {
    return core::fail(format.error());
  }
  auto stream = workload::open_items(file, options);
  if (!stream) {
    return core::fail(std::move(stream).error());
  }
  auto stats = workload::describe_trace(
      std::move(*stream), std::string((*format)->name), core::Tokens(block));
  if (!stats) {
    return core::fail(std::move(stats).error());
  }
  const auto found = std::make_shared<const workload::TraceStats>(std::move(*stats));
  const document::Node tree = workload::trace_tree(*found);
  Reply reply{.json = report::json_text(tree)};
  reply.report = [tree, json = reply.json](std::string_view name) {
    return name == "table"  ? std::optional(report::trace_table(tree, {}))
           : name == "json" ? std::optional(json)
                            : std::nullopt;
  };
  reply.picture_name = "trace";
  reply.picture = [found, name = std::filesystem::path(file).filename().string()] {
    return report::trace_svg(*found, name);
  };
  return reply;
}

core::Result<Reply> load_result(CallDocument& document) {
  core::Errors errors;
  const document::Node given = document.take("result");
  const std::string file = given.is_null() ? take_file(document, errors) : "result";
  document.end();
  errors.insert(errors.end(), document.errors().begin(), document.errors().end());
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  auto found = given.is_null() ? report::read_result(file) : report::checked_result(given, file);
  if (!found) {
    return core::fail(std::move(found).error());
  }
  const auto tree = std::make_shared<const document::Node>(std::move(*found));
  Reply reply{.json = report::json_text(*tree)};
  reply.figures = [tree] { return report::figures::all_figures(*tree); };
  reply.report = [tree, file](std::string_view name) {
    return name == "html" ? std::optional(report::html_report(*tree, report::words_of(*tree, file)))
           : name == "json"   ? std::optional(report::json_text(*tree))
           : name == "ndjson" ? std::optional(report::json_line(*tree))
                              : std::nullopt;
  };
  return reply;
}

}  // namespace ridgeline::api
