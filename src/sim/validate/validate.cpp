#include "sim/validate/validate.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/document.hpp"
#include "core/gzip.hpp"
#include "core/result.hpp"
#include "sim/validate/benchmark_results.hpp"
#include "sim/validate/evidence.hpp"
#include "sim/validate/experiment_records.hpp"
#include "sim/validate/measured_run.hpp"
#include "sim/validate/prediction.hpp"
#include "sim/validate/scores.hpp"

namespace ridgeline::sim::validate {
namespace {

constexpr std::size_t kLargestFile = std::size_t{1} << 30;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

bool blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

/// One JSON object a line.
std::vector<Evidence> read_lines(std::string_view text, const std::string& path) {
  std::vector<Evidence> evidence;
  const std::string folder = folder_of(path);
  for (std::int64_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view record = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (blank(record)) {
      continue;
    }
    const auto node = core::parse_json(record, path, core::NonFinite::kReadAsNull);
    Evidence next;
    if (node) {
      next = read_experiment(*node, folder);
    } else {
      next.problem = node.error().front().message;
    }
    next.file = path;
    next.line = line;
    if (next.id.empty()) {
      next.id = fmt::format("line {}", line);
    }
    evidence.push_back(std::move(next));
  }
  return evidence;
}

/// A file that is one JSON document, of a kind that is known; nothing for files of lines.
std::vector<Evidence> read_whole(std::string_view text, const std::string& path) {
  const auto document = core::parse_json(text, path, core::NonFinite::kReadAsNull);
  if (!document) {
    return {};
  }
  auto evidence = read_benchmark_result(*document, kind_of_result(*document));
  for (auto& record : evidence) {
    record.file = path;
    record.id = fmt::format("{}: {}", path.substr(path.rfind('/') + 1), record.id);
    record.run = record.run.empty() ? record.run : path + record.run;
  }
  return evidence;
}

}  // namespace

std::int64_t Validation::count(Standing standing) const {
  return std::ranges::count(records, standing, &ScoredRecord::standing);
}

core::Result<std::vector<Evidence>> read_evidence(const std::string& path) {
  const auto text = core::read_unpacked(path, kLargestFile);
  if (!text) {
    return core::fail(text.error());
  }
  auto evidence = read_whole(*text, path);
  if (evidence.empty()) {
    evidence = read_lines(*text, path);
  }
  if (evidence.empty()) {
    return core::fail(core::Error{
        .message =
            "holds no record, expected measured runs (one JSON object a line) or a result of "
            "vllm bench serve, guidellm, inference-perf or the original evaluator",
        .where = {.file = path}});
  }
  return evidence;
}

Validation validate(std::vector<Evidence> evidence, const PredictOptions& options) {
  std::vector<bool> readable;
  readable.reserve(evidence.size());
  for (const auto& record : evidence) {
    readable.push_back(record.problem.empty());
  }
  const auto runs = group_runs(evidence);
  auto results = predict(evidence, runs, options);
  Validation validation;
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    ScoredRecord record;
    record.standing = standing_of(evidence[i], results[i], record.reason);
    if (!readable[i]) {
      record.standing = Standing::kUnreadable;
    }
    record.prediction = results[i].prediction;
    record.evidence = std::move(evidence[i]);
    validation.records.push_back(std::move(record));
  }
  validation.scores = score(validation.records);
  validation.peers = score_peers(validation.records);
  return validation;
}

}  // namespace ridgeline::sim::validate
