#include "lab/records/experiment_records.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "document/document.hpp"
#include "evidence/validate/measured_figures.hpp"
#include "evidence/validate/start_up.hpp"
#include "lab/records/evidence_words.hpp"
#include "lab/records/fleet_records.hpp"
#include "lab/records/published_recipe.hpp"
#include "lab/records/record_identity.hpp"
#include "lab/records/record_refusals.hpp"
#include "lab/records/record_workload.hpp"
#include "lab/records/request_log.hpp"

namespace ridgeline::records {
namespace {

void read_server(const document::Node& server, ServerFacts& facts) {
  facts.max_model_len = count_at(server, "max_model_len");
  facts.max_num_seqs = count_at(server, "max_num_seqs");
  facts.max_num_batched_tokens = count_at(server, "max_num_batched_tokens");
  facts.gpu_memory_utilization = number_at(server, "gpu_memory_utilization");
  facts.block_size = count_at(server, "block_size");
  facts.num_gpu_blocks = count_at(server, "total_kv_blocks");
  if (!facts.num_gpu_blocks) {
    facts.num_gpu_blocks = count_at(server, "num_gpu_blocks");
  }
  if (const auto tokens = count_at(server, "kv_cache_tokens_per_pod");
      !facts.num_gpu_blocks && tokens) {
    facts.num_gpu_blocks =
        *tokens / std::max<std::int64_t>(1, facts.block_size.value_or(Campaign::kBlockTokens));
  }
  facts.prefix_caching = truth_at(server, "prefix_caching");
  facts.chunked_prefill = truth_at(server, "chunked_prefill");
  facts.async_scheduling = truth_at(server, "async_scheduling");
  facts.enforce_eager = truth_at(server, "enforce_eager");
  if (const auto graphs = truth_at(server, "cudagraph"); graphs && !facts.enforce_eager) {
    facts.enforce_eager = !*graphs;
  }
  if (const std::string dtype = text_at(server, "kv_cache_dtype"); !dtype.empty()) {
    facts.kv_cache_dtype = dtype;
  }
  // Any other setting by the name that the engine has for it; deploy() knows which there are.
  for (const auto& member : server.members()) {
    const auto truth = truth_at(server, member.key);
    std::string text = truth ? (*truth ? "true" : "false") : text_at(server, member.key);
    if (!text.empty()) {
      facts.settings.emplace_back(member.key, std::move(text));
    }
  }
}

/// "p2-constant" says "constant"; other stages by how their requests come.
std::string strategy_of(const Evidence& evidence) {
  if (const std::size_t dash = evidence.stage.find('-'); dash != std::string::npos) {
    return evidence.stage.substr(dash + 1);
  }
  switch (evidence.stages.empty() ? StageLoad::Kind::kRandom : evidence.stages.front().kind) {
    case StageLoad::Kind::kClosed:
      return "closed";
    case StageLoad::Kind::kAtOnce:
      return "throughput";
    case StageLoad::Kind::kEven:
      return "constant";
    case StageLoad::Kind::kRecorded:
      return "replay";
    case StageLoad::Kind::kRandom:
      break;
  }
  return "poisson";
}

void read_peers(const document::Node& record, Evidence& evidence) {
  const document::Node* peers = member_at(record, "predictions");
  if (peers == nullptr || !peers->is_map()) {
    return;
  }
  for (const auto& peer : peers->members()) {
    std::vector<std::string> odd;  // What others predict is not judged.
    Figures figures = read_figures(peer.value, 1, odd);
    if (!figures.empty()) {
      evidence.peers.push_back({.name = peer.key, .figures = figures});
    }
  }
}

/// What a record measured, above 0. All else of it is left out, and named in `doubts`. Returns the
/// first such line, which is the record's problem where nothing is left.
std::string read_measured(const document::Node& measured, std::int64_t gpus, Evidence& evidence) {
  std::vector<std::string> odd;
  evidence.measured = read_figures(measured, gpus, odd);
  evidence.request_throughput = positive_at(measured, "requests_per_s", "", odd);
  evidence.completed_per_s = evidence.request_throughput;
  for (const std::string& one : odd) {
    evidence.doubts.push_back(fmt::format("{}: measured.{}: left out", evidence.id, one));
  }
  return odd.empty() ? std::string() : fmt::format("measured.{}", odd.front());
}

/// What runs on what must both be known.
std::string missing_hardware(const Evidence& evidence) {
  if (evidence.model.empty() && evidence.gpu.empty()) {
    return "model and gpu are missing";
  }
  return fmt::format("{} is missing", evidence.model.empty() ? "model" : "gpu");
}

/// The fleet of a record of several instances; false where it is not simulated.
bool read_system(const document::Node& record, Evidence& evidence) {
  if (const document::Node* cluster = fleet_of(record)) {
    read_cluster(*cluster, evidence);
  }
  return evidence.problem.empty() && evidence.refusal.empty();
}

class CollectionReader final : public evidence::validate::RecordReader {
 public:
  explicit CollectionReader(const std::string& folder) : logs_(folder) {}

  Evidence read(const document::Node& record) override {
    const bool is_own =
        member_at(record, "deployment") != nullptr && member_at(record, "figures") != nullptr;
    return is_own ? evidence::validate::read_measured_record(record)
                  : read_experiment(record, logs_);
  }

 private:
  RequestLogs logs_;
};

}  // namespace

Evidence read_experiment(const document::Node& record, RequestLogs& logs) {
  Evidence evidence;
  read_identity(record, evidence);
  if (const document::Node* server = member_at(record, "server");
      server != nullptr && server->is_map()) {
    read_server(*server, evidence.server);
  }
  if (const document::Node* recipe = member_at(record, "recipe")) {
    read_recipe(*recipe, evidence.server);
  }
  read_peers(record, evidence);
  const document::Node* measured = member_at(record, "measured");
  const document::Node* workload = member_at(record, "workload");
  if (evidence.id.empty()) {
    evidence.problem = "id is missing: it is no record of a measured run";
  } else if (evidence.model.empty() || evidence.gpu.empty()) {
    if (fleet_of(record) == nullptr) {
      evidence.problem = missing_hardware(evidence);
    } else {  // It is understood, and of a system that is not known.
      evidence.refusal = missing_hardware(evidence);
      if (measured != nullptr) {
        static_cast<void>(read_measured(*measured, 1, evidence));
      }
    }
  } else if (measured == nullptr || workload == nullptr) {
    evidence.problem = fmt::format("{} is missing", measured == nullptr ? "measured" : "workload");
  } else {
    const std::string odd = read_measured(
        *measured, std::max<std::int64_t>(1, count_at(record, "num_gpus").value_or(1)), evidence);
    if (evidence.measured.empty()) {
      std::vector<std::string> others;
      evidence.measured = read_start(*measured, others);
      evidence.is_start = !evidence.measured.empty();
      if (!others.empty()) {
        evidence.doubts.push_back(
            fmt::format("of measured is not predicted: {}", fmt::join(others, "; ")));
      }
    }
    if (evidence.is_start) {
      evidence.strategy = "start";
    } else if (evidence.measured.empty()) {
      evidence.problem = odd.empty()
                             ? fmt::format("measured holds no latency, throughput or power{}",
                                           held_instead(*measured))
                             : odd;
    } else if (read_system(record, evidence)) {
      read_workload(*workload, logs, evidence);
      if (evidence.problem.empty()) {
        read_ladder(*workload, evidence);
      }
      evidence.strategy = strategy_of(evidence);
    }
  }
  return evidence;
}

std::unique_ptr<evidence::validate::RecordReader> make_collection_reader(
    const std::string& folder) {
  return std::make_unique<CollectionReader>(folder);
}

}  // namespace ridgeline::records
