#include "evidence/validate/experiment_folder.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/gzip.hpp"
#include "evidence/validate/client_load.hpp"
#include "evidence/validate/client_readers.hpp"
#include "evidence/validate/evaluator.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/evidence_limits.hpp"
#include "evidence/validate/loose_node.hpp"
#include "evidence/validate/result_document.hpp"
#include "evidence/validate/server_log.hpp"
#include "evidence/validate/server_spans.hpp"
#include "evidence/validate/strict_map.hpp"

namespace ridgeline::evidence::validate {
namespace {

constexpr const char* kResults = "guidellm-results.json";
constexpr const char* kServer = "exp-config.yaml";
constexpr const char* kProfile = "profile.yaml";
constexpr const char* kSpans = "traces.json";
constexpr const char* kLog = "vllm.log";
constexpr int kDeepest = 4;  ///< Folders between the given one and an experiment's.

class Experiment {
 public:
  explicit Experiment(const std::filesystem::path& folder) : folder_(folder) {}

  core::Result<std::vector<Evidence>> read() {
    auto report = read_result_document(path(kResults));
    if (!report) {
      return core::fail(report.error());
    }
    if (member_at(*report, "benchmarks") == nullptr) {
      return core::fail(core::Error{.message = "holds no benchmarks, expected guidellm's report",
                                    .where = {.file = path(kResults)}});
    }
    if (auto errors = read_server(); !errors.empty()) {
      return core::fail(std::move(errors));
    }
    if (auto errors = read_profile(); !errors.empty()) {
      return core::fail(std::move(errors));
    }
    read_log();
    if (auto errors = read_spans(); !errors.empty()) {
      return core::fail(std::move(errors));
    }
    std::vector<Evidence> all = read_guidellm(*report);
    const auto benchmarks = items_at(*report, "benchmarks");
    for (std::size_t i = 0; i < all.size(); ++i) {
      complete(benchmarks[i], all[i]);
    }
    return all;
  }

 private:
  [[nodiscard]] std::string path(const char* file) const { return (folder_ / file).string(); }
  [[nodiscard]] bool has(const char* file) const {
    std::error_code failed;
    return std::filesystem::is_regular_file(folder_ / file, failed);
  }
  void note(std::string text) { server_.sources.push_back(std::move(text)); }
  void take_unread(const StrictMap& section) {
    for (std::string& line : section.unread()) {
      server_.doubts.push_back(std::move(line));
    }
  }

  /// A YAML file; nothing where there is none.
  core::Result<std::optional<document::Node>> yaml(const char* file) {
    if (!has(file)) {
      return std::optional<document::Node>();
    }
    const auto text = document::read_file(path(file));
    if (!text) {
      return core::fail(text.error());
    }
    auto node = document::parse_yaml(*text, path(file));
    if (!node) {
      return core::fail(node.error());
    }
    return std::optional(std::move(*node));
  }
  core::Errors wrong(const char* file, const std::string& problem) const {
    return {{.message = problem, .where = {.file = path(file)}}};
  }

  core::Errors read_server() {
    const auto node = yaml(kServer);
    if (!node) {
      return node.error();
    }
    if (!*node) {
      return wrong(kServer, "is missing, expected the experiment's model and tensor_parallelism");
    }
    StrictMap section(&**node, kServer);
    read_server_section(section, server_);
    if (server_.model.empty()) {
      section.refuse("model", "the network's name");
    }
    take_unread(section);
    note(fmt::format("{}: the deployment", kServer));
    return section.problem().empty() ? core::Errors() : wrong(kServer, section.problem());
  }

  core::Errors read_profile() {
    const auto node = yaml(kProfile);
    if (!node) {
      return node.error();
    }
    if (!*node) {
      server_.assumed.emplace_back(
          "no profile.yaml: what prompts share is as guidellm's report says");
      return {};
    }
    StrictMap section(&**node, kProfile);
    for (const char* key :
         {"target", "rate-type", "rate", "max-requests", "max-seconds", "random-seed"}) {
      section.pass_over(key);  // What was sent says the report.
    }
    if (const document::Node* text = section.map("data")) {
      StrictMap data(text, fmt::format("{}: data", kProfile));
      Evidence read;
      read_synthetic_data(data, read);
      if (!read.problem.empty()) {
        return wrong(kProfile, read.problem);
      }
      server_.doubts.insert(server_.doubts.end(), read.doubts.begin(), read.doubts.end());
      server_.sharing = read.sharing;
      server_.input = read.input;
      server_.output = read.output;
      note(fmt::format(
          "{}: {} tokens that all prompts begin with", kProfile, read.sharing.shared_prefix));
    }
    take_unread(section);
    return section.problem().empty() ? core::Errors() : wrong(kProfile, section.problem());
  }

  void read_log() {
    const auto text = has(kLog) ? document::read_unpacked(path(kLog), kMostFileBytes)
                                : core::Result<std::string>(std::string());
    const ServerLog log = read_server_log(text.value_or(""));
    if (log.is_empty) {
      server_.assumed.push_back(fmt::format(
          "no {} of a start: vLLM's version and the number of KV blocks are not known", kLog));
      return;
    }
    if (!log.version.empty()) {
      server_.engine = "vllm";
      server_.engine_version = fmt::format("vllm@{}", log.version);
      server_.stated_version = log.version;
      note(fmt::format("{}: vLLM {}", kLog, log.version));
    }
    server_.server.num_gpu_blocks = log.blocks;
    if (log.blocks) {
      note(fmt::format("{}: {} KV blocks", kLog, *log.blocks));
    }
    if (log.memory_gib) {
      note(fmt::format("{}: weights and KV cache take {:.1f} GiB of a GPU", kLog, *log.memory_gib));
    }
    server_.server.prefix_caching = log.prefix_caching;
    server_.server.chunked_prefill = log.chunked_prefill;
    for (const auto& [key, value] : log.flags) {
      take_flag(key, value);
    }
  }

  /// What the server was started with wins over what exp-config.yaml planned.
  void take_flag(const std::string& key, const std::string& value) {
    const auto compare = [&](auto& slot) {
      const std::string planned = slot ? fmt::format("{}", *slot) : std::string();
      if (!planned.empty() && planned != value) {
        server_.doubts.push_back(
            fmt::format("{} {} is started with {} {}, {} has {}: what was started holds",
                        kLog,
                        key,
                        key,
                        value,
                        kServer,
                        planned));
        slot.reset();
      }
      if (!slot) {
        server_.stated.emplace_back("engine." + key, value);
      }
    };
    if (key == "max_model_len") {
      compare(server_.server.max_model_len);
    } else if (key == "max_num_seqs") {
      compare(server_.server.max_num_seqs);
    } else if (key == "max_num_batched_tokens") {
      compare(server_.server.max_num_batched_tokens);
    } else if (key == "tensor_parallel_size") {
      if (value != fmt::format("{}", server_.tensor_parallel)) {
        server_.doubts.push_back(
            fmt::format("{} is started with {} GPUs, {} has {}: what was started holds",
                        kLog,
                        value,
                        kServer,
                        server_.tensor_parallel));
        server_.stated.emplace_back("engine." + key, value);
      }
    } else if (key != "version" && key != "num_gpu_blocks") {
      server_.stated.emplace_back("engine." + key, value);
    }
  }

  core::Errors read_spans() {
    if (!has(kSpans)) {
      server_.assumed.push_back(fmt::format("no {}: the server's own times are not known", kSpans));
      return {};
    }
    const auto text = document::read_unpacked(path(kSpans), kMostFileBytes);
    if (!text) {
      return text.error();
    }
    auto spans = read_server_spans(*text, path(kSpans));
    if (!spans) {
      return spans.error();
    }
    spans_ = std::move(*spans);
    return {};
  }

  /// The spans of a benchmark's requests: by their ids, else those that began while it ran.
  [[nodiscard]] std::vector<const ServerSpan*> spans_of(const document::Node& benchmark) const {
    std::vector<const ServerSpan*> found;
    const document::Node* requests = member_at(benchmark, "requests");
    if (requests != nullptr) {
      for (const auto& request : items_at(*requests, "successful")) {
        const auto span = spans_.find(text_at(request, "response_id"));
        if (span != spans_.end()) {
          found.push_back(&span->second);
        }
      }
    }
    const auto start = number_at(benchmark, "start_time");
    const auto end = number_at(benchmark, "end_time");
    if (found.empty() && start && end) {
      for (const auto& [id, span] : spans_) {
        if (span.start_s >= *start && span.start_s <= *end) {
          found.push_back(&span);
        }
      }
    }
    return found;
  }

  void add_spans(const document::Node& benchmark, Evidence& evidence) const {
    if (spans_.empty()) {
      return;
    }
    const auto spans = spans_of(benchmark);
    const auto requests = static_cast<std::size_t>(evidence.stages.front().requests);
    evidence.sources.push_back(
        fmt::format("{}: the server's times of {} requests", kSpans, spans.size()));
    if (spans.size() != requests) {
      evidence.doubts.push_back(fmt::format(
          "{}: {} holds {} of its {} requests", evidence.id, kSpans, spans.size(), requests));
    }
    const Figures figures = figures_of_spans(spans);
    for (std::size_t i = 0; i < kNumFigures; ++i) {
      if (is_of_server(static_cast<Figure>(i))) {
        evidence.measured.values[i] = figures.values[i];
      }
    }
  }

  void complete(const document::Node& benchmark, Evidence& evidence) const {
    const std::string name = folder_.filename().string();
    evidence.family = kEvaluatorFamily;
    evidence.file = folder_.string();
    evidence.run = folder_.string();
    evidence.id = fmt::format("{}: {}", name, evidence.id);
    if (evidence.offered_per_s) {
      evidence.id += fmt::format(" {:.3g}/s", *evidence.offered_per_s);
    }
    evidence.tells_server = true;
    evidence.usual_gpu = kEvaluatorGpu;
    evidence.model = server_.model;
    evidence.workload = server_.workload;
    evidence.tensor_parallel = server_.tensor_parallel;
    evidence.engine = server_.engine;
    evidence.engine_version = server_.engine_version;
    evidence.stated_version = server_.stated_version;
    evidence.server = server_.server;
    evidence.stated = server_.stated;
    if (server_.input.mean > 0.0) {
      evidence.sharing = server_.sharing;
      evidence.input = server_.input;
      evidence.output = server_.output;
    }
    evidence.sources = server_.sources;
    if (!evidence.stages.empty() && !evidence.stages.front().rows.empty()) {
      evidence.sources.push_back(
          fmt::format("{}: arrivals and lengths of {} requests, and a client's times of them",
                      kResults,
                      evidence.stages.front().rows.size()));
    }
    evidence.doubts.insert(evidence.doubts.end(), server_.doubts.begin(), server_.doubts.end());
    evidence.assumed.insert(evidence.assumed.end(), server_.assumed.begin(), server_.assumed.end());
    if (!evidence.stages.empty()) {
      add_spans(benchmark, evidence);
    }
  }

  std::filesystem::path folder_;
  Evidence server_;  ///< What all its benchmarks share.
  ServerSpans spans_;
};

bool is_experiment(const std::filesystem::path& folder) {
  std::error_code failed;
  return std::filesystem::is_regular_file(folder / kResults, failed);
}

/// The folders of experiments at and below one, by their names.
void find_experiments(const std::filesystem::path& folder,
                      int depth,
                      std::vector<std::filesystem::path>& found) {
  if (is_experiment(folder)) {
    found.push_back(folder);
    return;
  }
  std::error_code failed;
  std::vector<std::filesystem::path> below;
  for (std::filesystem::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::error_code unknown;
    if (entry->is_directory(unknown)) {
      below.push_back(entry->path());
    }
  }
  std::ranges::sort(below);
  for (const auto& next : below) {
    if (depth < kDeepest) {
      find_experiments(next, depth + 1, found);
    }
  }
}

}  // namespace

core::Result<std::vector<Evidence>> read_experiments(const std::string& folder) {
  std::filesystem::path top(folder);
  if (!top.has_filename()) {
    top = top.parent_path();  // "folder/"
  }
  std::vector<std::filesystem::path> folders;
  find_experiments(top, 0, folders);
  if (folders.empty()) {
    return core::fail(core::Error{
        .message =
            fmt::format("holds no {}, and neither does a folder in it, expected the folder of "
                        "an experiment: {}, {}, {}, {}, {}",
                        kResults,
                        kServer,
                        kProfile,
                        kResults,
                        kSpans,
                        kLog),
        .where = {.file = folder}});
  }
  std::vector<Evidence> all;
  core::Errors errors;
  for (const auto& one : folders) {
    auto read = Experiment(one).read();
    if (!read) {
      errors.insert(errors.end(), read.error().begin(), read.error().end());
      continue;
    }
    for (Evidence& record : *read) {
      all.push_back(std::move(record));
    }
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return all;
}

}  // namespace ridgeline::evidence::validate
