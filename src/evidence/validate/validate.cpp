#include "evidence/validate/validate.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/math.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "document/document.hpp"
#include "document/gzip.hpp"
#include "evidence/validate/benchmark_results.hpp"
#include "evidence/validate/client_files.hpp"
#include "evidence/validate/client_load.hpp"
#include "evidence/validate/client_readers.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/evidence_limits.hpp"
#include "evidence/validate/experiment_folder.hpp"
#include "evidence/validate/file_load.hpp"
#include "evidence/validate/measured_power.hpp"
#include "evidence/validate/measured_run.hpp"
#include "evidence/validate/prediction.hpp"
#include "evidence/validate/record_reader.hpp"
#include "evidence/validate/result_document.hpp"
#include "evidence/validate/scores.hpp"
#include "evidence/validate/sweeps.hpp"

namespace ridgeline::evidence::validate {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

Evidence unreadable(std::string problem) {
  Evidence evidence;
  evidence.problem = std::move(problem);
  return evidence;
}

/// Where a line has NaN or Infinity, in columns.
std::set<int> columns_without_number(std::string_view record) {
  std::set<int> columns;
  core::TextPositions positions(record);
  for (const std::string_view token : {"NaN", "Infinity"}) {
    for (std::size_t at = record.find(token); at != std::string_view::npos;
         at = record.find(token, at + token.size())) {
      columns.insert(positions.at(at > 0 && record[at - 1] == '-' ? at - 1 : at).column);
    }
  }
  return columns;
}

/// Names the members that were read as null and stand in one of those columns.
void note_without_number(const document::Node& node,
                         const std::string& path,
                         const std::set<int>& columns,
                         Evidence& evidence) {
  if (node.is_null() && columns.contains(node.where().column)) {
    evidence.doubts.push_back(
        fmt::format("{}: {} is NaN or infinite, expected a number: left out", evidence.id, path));
  }
  if (!node.is_map()) {
    return;
  }
  for (const auto& member : node.members()) {
    note_without_number(member.value,
                        path.empty() ? member.key : fmt::format("{}.{}", path, member.key),
                        columns,
                        evidence);
  }
}

/// The runs of a client's result, each with the load that its text states.
std::vector<Evidence> results_with_load(std::string_view text,
                                        const document::Node& document,
                                        ResultKind kind,
                                        const std::string& path) {
  auto evidence = read_benchmark_result(document, kind, path);
  if (kind == ResultKind::kVllmBench || kind == ResultKind::kInferencePerfRequests) {
    for (Evidence& record : evidence) {
      take_load(std::string(text), path, record);
    }
  }
  return evidence;
}

/// One JSON object a line: records of measured runs, results of benchmark clients, or the requests
/// of one run.
std::vector<Evidence> read_lines(const std::string& whole, const std::string& path) {
  std::string_view text = whole;
  std::vector<Evidence> evidence;
  std::vector<ResultLine> requests;  // AIPerf's requests, with the lines that are no document.
  bool is_aiperf = false;
  bool is_own = false;  // A record of ours.
  const auto reader = make_record_reader(folder_of(path));
  std::map<std::string_view, std::int64_t> known;  // Lines by their text.
  std::int64_t line = 0;
  const auto add = [&](Evidence next) {
    next.file = path;
    next.line = line;
    next.id = next.id.empty() ? fmt::format("line {}", line) : next.id;
    evidence.push_back(std::move(next));
  };
  while (!text.empty()) {
    ++line;
    const std::string_view record = next_line(text);
    if (is_blank(record)) {
      continue;
    }
    if (evidence.size() + requests.size() == kMostRecords) {
      add(unreadable(fmt::format("is more than {} lines down: not read", kMostRecords)));
      break;
    }
    const auto [first, is_new] = known.emplace(record, line);
    core::Result<document::Node> node = core::fail(
        core::Error{.message = fmt::format("is line {} again: counted once", first->second)});
    if (is_new) {
      node = parse_result(record, path);
    }
    is_own = is_own || (node && is_observed(*node));
    if (!node || is_own || is_aiperf_request(*node)) {
      is_aiperf = is_aiperf || (node && !is_own);
      requests.push_back({.number = line, .node = std::move(node)});
    } else if (const auto kind = kind_of_result(*node); kind != ResultKind::kUnknown) {
      std::ranges::for_each(results_with_load(record, *node, kind, path), add);
    } else {
      Evidence measured = reader->read(*node);
      if (const std::set<int> columns = columns_without_number(record); !columns.empty()) {
        note_without_number(*node, "", columns, measured);
      }
      add(std::move(measured));
    }
  }
  if (is_own || is_aiperf) {
    line = 0;
    Evidence run = is_own ? read_observed(requests) : read_aiperf_requests(requests);
    take_load(whole, path, run);
    add(std::move(run));
    return evidence;
  }
  for (const auto& broken : requests) {
    line = broken.number;
    add(unreadable(broken.node.error().front().message));
  }
  std::ranges::stable_sort(evidence, {}, &Evidence::line);
  return evidence;
}

std::vector<Evidence> read_records(const std::string& text,
                                   const document::Node& document,
                                   const std::string& path) {
  auto evidence = results_with_load(text, document, kind_of_result(document), path);
  for (auto& record : evidence) {
    record.file = path;
    record.id = fmt::format("{}: {}", file_name(path), record.id);
    record.run = record.run.empty() ? record.run : path + record.run;
  }
  return evidence;
}

bool all_unreadable(const std::vector<Evidence>& evidence) {
  return std::ranges::none_of(evidence, &std::string::empty, &Evidence::problem);
}

core::Result<std::vector<Evidence>> read_one_file(const std::string& path) {
  const auto text = document::read_unpacked(path, kMostFileBytes);
  if (!text) {
    return core::fail(text.error());
  }
  // One document first: a result of a client is one, whatever its line breaks.
  const auto document = parse_result(*text, path);
  std::vector<Evidence> evidence;
  if (document) {
    evidence = read_records(*text, *document, path);
  }
  if (evidence.empty()) {
    evidence = read_lines(*text, path);
    const bool looks_whole = text->starts_with("{\n") || text->starts_with("[");
    if (!document && looks_whole && all_unreadable(evidence)) {
      return core::fail(document.error());
    }
  }
  if (evidence.empty()) {
    return core::fail(core::Error{
        .message =
            "holds no record, expected measured runs (one JSON object a line) or a result of "
            "vllm bench serve, guidellm, inference-perf, AIPerf, the original evaluator or "
            "ridgeline "
            "observe",
        .where = {.file = path}});
  }
  return evidence;
}

}  // namespace

std::int64_t Validation::count(Standing standing) const {
  return std::ranges::count(records, standing, &ScoredRecord::standing);
}

core::Result<std::vector<Evidence>> read_evidence(const std::string& path) {
  std::error_code failed;
  const bool is_folder = std::filesystem::is_directory(path, failed);
  auto evidence = is_folder ? read_experiments(path) : read_one_file(path);
  if (!evidence) {
    return evidence;
  }
  std::ranges::for_each(*evidence, check_limits);
  std::ranges::for_each(*evidence, leave_out_idle_power);
  check_sweeps(*evidence);
  return evidence;
}

std::int64_t derive_e2e(std::vector<Evidence>& evidence) {
  std::int64_t derived = 0;
  for (Evidence& record : evidence) {
    auto& e2e = record.measured.at(Figure::kE2e, Level::kMean);
    const auto seconds = mean_answer_seconds(record);
    if (record.problem.empty() && !record.is_start && !e2e && seconds) {
      e2e = *seconds * kMillisecondsPerSecond;
      record.assumed.emplace_back("mean E2E: TTFT + (output tokens - 1) x TPOT, of the means");
      ++derived;
    }
  }
  return derived;
}

void limit_requests(std::int64_t most, std::vector<Evidence>& evidence) {
  for (Evidence& record : evidence) {
    for (StageLoad& stage : record.stages) {
      if (stage.requests <= most) {
        continue;
      }
      stage.duration_s *= core::real(most) / core::real(stage.requests);
      stage.requests = most;
      const auto rows = static_cast<std::size_t>(most);
      stage.rows.resize(std::min(stage.rows.size(), rows));
      if (stage.items != nullptr) {
        auto items = *stage.items;
        items.items.resize(std::min(items.items.size(), rows));
        stage.items = std::make_shared<const workload::ItemList>(std::move(items));
      }
      record.assumed.push_back(fmt::format("the first {} requests stand for all", most));
    }
  }
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
    for (const core::Warning& note : results[i].notes) {
      if (std::ranges::find(validation.warnings, note.message, &core::Warning::message) ==
          validation.warnings.end()) {
        validation.warnings.push_back(note);
      }
    }
    record.evidence = std::move(evidence[i]);
    validation.records.push_back(std::move(record));
  }
  validation.scores = score(validation.records);
  validation.peers = score_peers(validation.records);
  return validation;
}

}  // namespace ridgeline::evidence::validate
