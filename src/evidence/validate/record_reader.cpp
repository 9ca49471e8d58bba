#include "evidence/validate/record_reader.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "document/document.hpp"
#include "evidence/validate/client_load.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/loose_node.hpp"
#include "evidence/validate/measured_figures.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// The settings of a deployment by their paths: {"engine": {"max_num_seqs": 64}} is
/// "engine.max_num_seqs", "64".
void note_settings(const document::Node& node, const std::string& path, Evidence& evidence) {
  for (const auto& member : node.members()) {
    const std::string at = path.empty() ? member.key : fmt::format("{}.{}", path, member.key);
    if (member.value.is_map()) {
      note_settings(member.value, at, evidence);
      continue;
    }
    const auto truth = truth_at(node, member.key);
    const std::string text = truth ? (*truth ? "true" : "false") : text_at(node, member.key);
    if (text.empty()) {
      evidence.problem = fmt::format(
          "deployment.{}: found {}, expected a text or a number", at, member.value.describe());
    } else if (at == "model") {
      evidence.model = text;
    } else if (at == "gpu") {
      evidence.gpu = text;
    } else if (at == "engine" || at == "engine.version") {
      evidence.engine_version = text;
      evidence.engine = text.substr(0, text.find('@'));
    } else {
      evidence.stated.emplace_back(at, text);
    }
  }
}

/// Keys of a load that are numbers above 0.
constexpr auto kLoadNumbers = std::to_array<std::string_view>(
    {"request_rate", "max_concurrency", "num_prompts", "input_len", "output_len", "prefix_len"});
constexpr std::string_view kArrivals = "arrivals";

/// What is wrong with a load; empty where nothing is. A key that is not read would be another load.
std::string problem_of_load(const document::Node& load) {
  for (const auto& member : load.members()) {
    if (member.key == kArrivals) {
      const std::string word = text_at(load, kArrivals);
      if (word != "poisson" && word != "constant") {
        return fmt::format("load.arrivals: found {}, expected poisson or constant",
                           member.value.describe());
      }
    } else if (std::ranges::find(kLoadNumbers, member.key) == kLoadNumbers.end()) {
      return fmt::format("load.{}: no such key, expected {} or one of {}",
                         member.key,
                         kArrivals,
                         fmt::join(kLoadNumbers, ", "));
    } else if (!(number_at(load, member.key).value_or(0.0) > 0.0)) {
      return fmt::format(
          "load.{}: found {}, expected a number above 0", member.key, member.value.describe());
    }
  }
  for (const std::string_view key : {"num_prompts", "input_len", "output_len"}) {
    if (load.find(key) == nullptr) {
      return fmt::format("load.{} is missing", key);
    }
  }
  return load.find("request_rate") != nullptr && load.find("max_concurrency") != nullptr
             ? "load: found request_rate and max_concurrency, expected one of them"
             : "";
}

void read_load(const document::Node& load, Evidence& evidence) {
  const double requests = number_at(load, "num_prompts").value_or(0.0);
  const auto rate = number_at(load, "request_rate");
  if (const auto clients = number_at(load, "max_concurrency")) {
    evidence.closed_loop = true;
    evidence.stages.push_back(closed_load(requests, *clients));
  } else if (rate) {
    const bool is_even = text_at(load, kArrivals) == "constant";
    evidence.stages.push_back(open_load(
        requests, requests / *rate, is_even ? StageLoad::Kind::kEven : StageLoad::Kind::kRandom));
    evidence.offered_per_s = rate;
  } else {
    evidence.stages.push_back(open_load(requests, 0.0, StageLoad::Kind::kAtOnce));
  }
  evidence.input = about(number_at(load, "input_len").value_or(0.0));
  evidence.output = about(number_at(load, "output_len").value_or(0.0));
  evidence.sharing.shared_prefix = count_at(load, "prefix_len").value_or(0);
}

class MeasuredRecords final : public RecordReader {
 public:
  Evidence read(const document::Node& record) override { return read_measured_record(record); }
};

MakeRecordReader& further_reader() {
  static MakeRecordReader make = nullptr;
  return make;
}

}  // namespace

Evidence read_measured_record(const document::Node& record) {
  Evidence evidence;
  evidence.family = "measured";
  evidence.id = text_at(record, "id");
  evidence.stage = "0";
  const document::Node* deployment = member_at(record, "deployment");
  const document::Node* load = member_at(record, "load");
  const document::Node* figures = member_at(record, "figures");
  if (evidence.id.empty()) {
    evidence.problem = "id is missing: it is no record of a measured run";
  } else if (member_at(record, "workload") != nullptr && member_at(record, "measured") != nullptr) {
    evidence.problem = kNeedsLaboratory;
  }
  for (const auto& [key, node] :
       {std::pair<std::string_view, const document::Node*>("deployment", deployment),
        {"load", load},
        {"figures", figures}}) {
    if (evidence.problem.empty() && (node == nullptr || !node->is_map())) {
      evidence.problem = node == nullptr
                             ? fmt::format("{} is missing, expected a map", key)
                             : fmt::format("{}: found {}, expected a map", key, node->describe());
    }
  }
  if (!evidence.problem.empty()) {
    return evidence;
  }
  note_settings(*deployment, "", evidence);
  if (const document::Node* engine = member_at(*deployment, "engine")) {
    // Degrees of parallelism are axes of the scores too.
    evidence.tensor_parallel = count_at(*engine, "tensor_parallel_size").value_or(1);
    evidence.pipeline_parallel = count_at(*engine, "pipeline_parallel_size").value_or(1);
  }
  if (std::string problem = problem_of_load(*load); !problem.empty()) {
    evidence.problem = std::move(problem);
    return evidence;
  }
  read_load(*load, evidence);
  std::vector<std::string> odd;
  evidence.measured = read_figures(*figures, 1, odd);
  for (const std::string& one : odd) {
    evidence.doubts.push_back(fmt::format("{}: figures.{}: left out", evidence.id, one));
  }
  if (evidence.measured.empty() && evidence.problem.empty()) {
    evidence.problem = "figures holds no latency, throughput or power";
  }
  if (evidence.problem.empty()) {
    require_load(evidence);
  }
  return evidence;
}

void use_record_reader(MakeRecordReader make) {
  further_reader() = make;
}

std::unique_ptr<RecordReader> make_record_reader(const std::string& folder) {
  return further_reader() == nullptr ? std::make_unique<MeasuredRecords>()
                                     : further_reader()(folder);
}

}  // namespace ridgeline::evidence::validate
