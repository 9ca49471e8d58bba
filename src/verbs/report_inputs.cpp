#include "verbs/report_inputs.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "evidence/validate/measured_files.hpp"
#include "evidence/validate/measured_run_tree.hpp"
#include "report/comparison_page.hpp"
#include "report/saved_result.hpp"
#include "verbs/saved_views.hpp"

namespace ridgeline::verbs {
namespace {

using document::Node;

/// What one file holds.
struct FileContent {
  enum class Kind : std::uint8_t { kRuns, kMeasured, kSweep, kOther };
  Kind kind = Kind::kRuns;
  std::vector<report::PageRun> runs = {};
  std::vector<Node> documents = {};
  const SavedView* view = nullptr;  ///< kOther.
};

bool is_run(const Node& node) {
  return node.is_map() && node.find("summary") != nullptr && node.find("config") != nullptr;
}
bool is_sweep_row(const Node& node) {
  const Node* const point = node.find("point");
  return point != nullptr && point->is_map() && node.find("ordinal") != nullptr;
}

/// The lines of a file as documents; the first problem otherwise.
core::Result<std::vector<Node>> read_lines(std::string_view text, const std::string& path) {
  std::vector<Node> nodes;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      continue;
    }
    auto node = document::parse_json(line, path);
    if (!node) {
      return core::fail(node.error());
    }
    nodes.push_back(std::move(*node));
  }
  return nodes;
}

/// The documents of a file: one, or one a line.
core::Result<std::vector<Node>> read_documents(const std::string& path) {
  const auto text = document::read_file(path);
  if (!text) {
    return core::fail(text.error());
  }
  if (text->starts_with("<!doctype html>")) {
    auto node = report::result_in_page(*text, path);
    return node ? core::Result<std::vector<Node>>(std::vector<Node>{std::move(*node)})
                : core::fail(node.error());
  }
  auto node = document::parse_json(*text, path);
  if (node) {
    return std::vector<Node>{std::move(*node)};
  }
  if (auto lines = read_lines(*text, path); lines && lines->size() > 1) {
    return lines;
  }
  return core::fail(node.error());
}

/// A file that `validate` reads; nothing where it is none.
std::optional<FileContent> read_measured_file(const std::string& path) {
  const auto evidence = evidence::validate::read_files({path}, {});
  if (!evidence) {
    return std::nullopt;
  }
  FileContent content{.kind = FileContent::Kind::kMeasured};
  for (const auto& record : *evidence) {
    if (!record.measured.empty()) {
      content.runs.push_back({.name = record.id.empty() ? path : record.id,
                              .result = evidence::validate::measured_run_tree(record),
                              .measured = true});
    }
  }
  return content.runs.empty() ? std::nullopt : std::optional(std::move(content));
}

core::Result<FileContent> read_file_content(const std::string& path) {
  auto documents = read_documents(path);
  FileContent content;
  if (documents && !documents->empty()) {
    if (std::ranges::all_of(*documents, is_run)) {
      for (Node& node : *documents) {
        const std::string name =
            documents->size() == 1 ? path : fmt::format("{} {}", path, content.runs.size() + 1);
        auto result = report::checked_result(std::move(node), name);
        if (!result) {
          return core::fail(std::move(result).error());
        }
        content.runs.push_back({.name = name, .result = *std::move(result)});
      }
      return content;
    }
    if (std::ranges::all_of(*documents, is_sweep_row)) {
      content.kind = FileContent::Kind::kSweep;
      content.documents = std::move(*documents);
      return content;
    }
    content.view = documents->size() == 1 ? view_of(documents->front()) : nullptr;
    if (content.view != nullptr) {
      content.kind = FileContent::Kind::kOther;
      content.documents = std::move(*documents);
      return content;
    }
  }
  if (auto measured = read_measured_file(path)) {
    return *std::move(measured);
  }
  if (!documents) {
    return core::fail(documents.error());
  }
  return core::fail(core::Error{
      .message =
          "no result: expected what `run`, `sweep`, `plan`, `validate` or `trace` wrote, or a "
          "measured file that `validate` reads",
      .where = {.file = path}});
}

std::string_view kind_name(const FileContent& content) {
  switch (content.kind) {
    case FileContent::Kind::kRuns:
      return "a run";
    case FileContent::Kind::kMeasured:
      return "a measured file";
    case FileContent::Kind::kSweep:
      return "a sweep";
    case FileContent::Kind::kOther:
      return content.view->kind;
  }
  return "";
}

core::Error mixed(const std::vector<std::string>& paths, const std::vector<FileContent>& contents) {
  std::string found;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    found += fmt::format("{}{} ('{}')", i == 0 ? "" : ", ", kind_name(contents[i]), paths[i]);
  }
  return {.message = fmt::format("found {}, expected one run, two to {} runs and measured files of "
                                 "which one is a run, one sweep, or one other result",
                                 found,
                                 report::kMostPageRuns),
          .where = {.file = "command line"}};
}

}  // namespace

core::Result<ReportInputs> read_report_inputs(const std::vector<std::string>& paths) {
  if (paths.empty()) {
    return core::fail(
        core::Error{.message = "expected one result or more, found none",
                    .where = {.file = "command line"},
                    .hint = "ridgeline run ... -o run.html, then ridgeline report run.html"});
  }
  std::vector<FileContent> contents;
  core::Errors errors;
  for (const std::string& path : paths) {
    auto content = read_file_content(path);
    if (content) {
      contents.push_back(std::move(*content));
    } else {
      errors.insert(errors.end(), content.error().begin(), content.error().end());
    }
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  ReportInputs inputs;
  const FileContent::Kind first = contents.front().kind;
  if (first == FileContent::Kind::kSweep || first == FileContent::Kind::kOther) {
    if (contents.size() > 1) {
      return core::fail(mixed(paths, contents));
    }
    inputs.file = paths.front();
    inputs.kind = first == FileContent::Kind::kSweep ? ReportInputs::Kind::kSweep
                                                     : ReportInputs::Kind::kOther;
    inputs.rows = std::move(contents.front().documents);
    inputs.view = contents.front().view;
    return inputs;
  }
  for (FileContent& content : contents) {
    if (content.kind == FileContent::Kind::kSweep || content.kind == FileContent::Kind::kOther) {
      return core::fail(mixed(paths, contents));
    }
    std::ranges::move(content.runs, std::back_inserter(inputs.runs));
  }
  const bool simulated =
      std::ranges::any_of(inputs.runs, [](const report::PageRun& run) { return !run.measured; });
  if (!simulated || inputs.runs.size() > report::kMostPageRuns) {
    return core::fail(mixed(paths, contents));
  }
  return inputs;
}

}  // namespace ridgeline::verbs
