// The record of `ridgeline observe`: what was sent to a server, what came back, and what its flags
// said of the server.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "document/document.hpp"
#include "evidence/validate/client_load.hpp"
#include "evidence/validate/client_readers.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/loose_node.hpp"
#include "evidence/validate/result_document.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// Tokens of prompts from the server's cache that change times by more than a measurement does.
constexpr double kCachedInDoubt = 0.01;

/// The text of a member of a map of texts, at a key that holds dots.
std::string stated(const document::Node* map, std::string_view key) {
  return map == nullptr ? std::string() : text_at(*map, key);
}

std::int64_t ranks_of(const document::Node* deployment, std::string_view key) {
  const std::string text = stated(deployment, key);
  std::int64_t ranks = 0;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    constexpr std::int64_t kMostRanks = 65'536;
    ranks = is_digit ? std::min(10 * ranks + (c - '0'), kMostRanks) : 0;
  }
  return std::max<std::int64_t>(ranks, 1);
}

/// "vllm@0.15" of "0.15.1rc2"; empty where it is no such number.
std::string vllm_version(std::string_view version) {
  std::size_t end = 0;
  int dots = 0;
  while (end < version.size() &&
         ((version[end] >= '0' && version[end] <= '9') || (version[end] == '.' && ++dots < 2))) {
    ++end;
  }
  return dots == 0 || end < 3 ? std::string() : fmt::format("vllm@{}", version.substr(0, end));
}

void read_server(const document::Node& head, Evidence& evidence) {
  const document::Node* deployment = member_at(head, "deployment");
  evidence.model = stated(deployment, "model");
  evidence.model = evidence.model.empty() ? text_at(head, "model") : evidence.model;
  evidence.gpu = stated(deployment, "gpu");
  evidence.tensor_parallel = ranks_of(deployment, "engine.tensor_parallel_size");
  evidence.pipeline_parallel = ranks_of(deployment, "engine.pipeline_parallel_size");
  evidence.data_parallel = ranks_of(deployment, "engine.data_parallel_size");
  evidence.engine_version = stated(deployment, "engine.version");
  const document::Node* server = member_at(head, "server");
  const document::Node* cache = server == nullptr ? nullptr : member_at(*server, "cache_config");
  if (cache != nullptr && !cache->members().empty()) {  // Only vLLM has it.
    const std::string version = text_at(*server, "version");
    evidence.stated_version = version;
    if (evidence.engine_version.empty()) {
      evidence.engine_version = vllm_version(version);
    }
    const auto blocks = text_at(*cache, "num_gpu_blocks");
    if (const std::int64_t number = ranks_of(cache, "num_gpu_blocks"); !blocks.empty()) {
      constexpr std::int64_t kNoBlocks = 1;  // "None" reads as 1 too.
      evidence.server.num_gpu_blocks = number > kNoBlocks ? std::optional(number) : std::nullopt;
    }
  }
  if (deployment != nullptr && deployment->is_map()) {
    for (const auto& member : deployment->members()) {
      if (member.value.is_string()) {
        evidence.stated.emplace_back(member.key, member.value.as_string());
      }
    }
  }
}

void read_end(const document::Node& tail, Evidence& evidence) {
  evidence.unsound.clear();
  for (const auto& why : items_at(tail, "unsound")) {
    if (why.is_string()) {
      evidence.unsound += (evidence.unsound.empty() ? "" : "; ") + why.as_string();
    }
  }
}

ClientRequest observed_request(const document::Node& row, std::int64_t line) {
  ClientRequest request;
  const auto number = [&](std::string_view key, const Allowed& allowed) {
    return read_number(
        row.find(key), fmt::format("line {}: {}", line, key), allowed, request.problem);
  };
  const auto either = [&](std::string_view counted, std::string_view asked) {
    return number(member_at(row, counted) == nullptr ? asked : counted, kAllowedTokens);
  };
  request.start_place = fmt::format("line {}: send_s", line);
  request.start_s = number("send_s", kAnyTime);
  request.input_tokens = either("prompt_tokens", "input_tokens");
  request.output_tokens = either("completion_tokens", "output_tokens");
  request.ttft_ms = number("ttft_ms", kAllowedTime);
  request.e2e_ms = number("end_ms", kAllowedTime);
  const double last = number("last_ms", kAllowedTime);
  if (request.output_tokens > 1.0) {
    request.tpot_ms = (last - *request.ttft_ms) / (request.output_tokens - 1.0);
  }
  return request;
}

/// What a client waits for that no constant of the model stands for, in milliseconds: the network,
/// and the lateness of `ridgeline serve` where that was measured.
struct Way {
  double network_ms = 0.0;
  double late_ms = 0.0;  ///< Mean.

  [[nodiscard]] double total_ms() const { return network_ms + late_ms; }
};

Way read_way(const document::Node& head, const document::Node& tail) {
  Way way;
  std::optional<double> round_trip_ms;
  bool is_loopback = false;
  for (const document::Node* line : {&head, &tail}) {
    const document::Node* client = member_at(*line, "client");
    const auto measured = client == nullptr ? std::nullopt : number_at(*client, "round_trip_ms");
    // The shorter one: what still runs after the load delays the handshakes, not the answers.
    if (measured && *measured >= 0.0) {
      round_trip_ms = std::min(*measured, round_trip_ms.value_or(*measured));
    }
    is_loopback =
        is_loopback || (client != nullptr && truth_at(*client, "loopback").value_or(false));
  }
  way.network_ms = round_trip_ms.value_or(0.0);
  const document::Node* server = member_at(head, "server");
  const document::Node* before = server == nullptr ? nullptr : member_at(*server, "metrics_before");
  const document::Node* after = member_at(tail, "metrics_after");
  const auto between = [&](std::string_view key) {
    return number_at(*after, key).value_or(0.0) - number_at(*before, key).value_or(0.0);
  };
  if (before != nullptr && after != nullptr && between("late_steps") >= 1.0) {
    way.late_ms = std::max(0.0, between("late_s") / between("late_steps") * kMillisecondsPerSecond);
    // A write over loopback returns when it has arrived: the way back is in the lateness.
    way.network_ms = is_loopback ? way.network_ms / 2.0 : way.network_ms;
  }
  return way;
}

/// Takes it off what the client measured; tokens after the first are as late as the first.
void leave_out(const document::Node* head,
               const document::Node* tail,
               std::vector<ClientRequest>& requests,
               Evidence& evidence) {
  const Way way = head == nullptr || tail == nullptr ? Way() : read_way(*head, *tail);
  if (way.total_ms() == 0.0) {
    return;
  }
  for (ClientRequest& request : requests) {
    for (auto* const time : {&request.ttft_ms, &request.e2e_ms}) {
      if (*time) {
        *time = std::max(0.0, **time - way.total_ms());
      }
    }
  }
  std::string parts = fmt::format("{:.3f} ms of network", way.network_ms);
  if (way.late_ms > 0.0) {
    parts += fmt::format(" and {:.3f} ms of the emulator's lateness", way.late_ms);
  }
  evidence.assumed.push_back(
      fmt::format("the model's part of TTFT and E2E is what was measured less {}", parts));
}

/// The rows of a record, without those that say nothing of a served request.
class Rows {
 public:
  void add(const document::Node& row, std::int64_t line) {
    if (truth_at(row, "warmup").value_or(false)) {
      return;
    }
    if (!text_at(row, "error").empty()) {
      ++failed_;
      return;
    }
    const auto session = count_at(row, "session");
    const Name name{session ? 1 : 0,
                    session.value_or(0),
                    count_at(row, session ? "turn" : "id").value_or(line)};
    // A second part sends unfinished sessions anew: the last counts.
    if (const auto [place, is_new] = places_.emplace(name, requests_.size()); is_new) {
      requests_.push_back(observed_request(row, line));
    } else {
      requests_[place->second] = observed_request(row, line);
    }
    // For rows that state their prompts' contents, sharing is simulated.
    if (member_at(row, "prompt") == nullptr) {
      cached_ += number_at(row, "cached_tokens").value_or(0.0);
    }
  }
  void add_unreadable(std::string problem) {
    requests_.push_back({.start_place = {}, .problem = std::move(problem)});
  }

  [[nodiscard]] std::int64_t failed() const { return failed_; }
  [[nodiscard]] double cached() const { return cached_; }
  [[nodiscard]] std::vector<ClientRequest> take() { return std::move(requests_); }

 private:
  using Name = std::array<std::int64_t, 3>;
  std::vector<ClientRequest> requests_;
  std::map<Name, std::size_t> places_;
  std::int64_t failed_ = 0;
  double cached_ = 0.0;
};

void doubt_cached(double cached, const std::vector<ClientRequest>& requests, Evidence& evidence) {
  double prompt_tokens = 0.0;
  for (const auto& request : requests) {
    prompt_tokens += request.input_tokens;
  }
  if (cached > kCachedInDoubt * prompt_tokens) {
    evidence.doubts.push_back(fmt::format(
        "{:.0f} % of the prompts' tokens came from the server's cache, and prompts that share "
        "nothing are simulated: the record does not say what they hold",
        100.0 * cached / prompt_tokens));
  }
}

/// What clients got in a second, from the first request to the last answer.
void measure_rates(const std::vector<ClientRequest>& requests, Evidence& evidence) {
  double first = requests.front().start_s;
  double end = first;
  double tokens = 0.0;
  for (const auto& request : requests) {
    first = std::min(first, request.start_s);
    end = std::max(end, request.start_s + *request.e2e_ms / kMillisecondsPerSecond);
    tokens += request.output_tokens;
  }
  if (!(end > first)) {
    return;
  }
  evidence.measured.at(Figure::kOutputThroughput, Level::kMean) = tokens / (end - first);
  const auto count = static_cast<double>(requests.size());
  if (evidence.closed_loop) {
    evidence.request_throughput = count / (end - first);
  } else {
    evidence.offered_per_s = count / (end - first);  // Settled by the rows.
    note_throughput(count, count / (end - first), evidence);
  }
}

/// Clients that send as soon as they have their answer; 0: the workload has times.
std::int64_t clients_of(const document::Node& head) {
  const document::Node* workload = member_at(head, "workload");
  const bool has_times = !stated(workload, "workload.request_rate").empty() ||
                         !stated(workload, "workload.trace").empty() ||
                         !stated(workload, "workload.arrivals").empty() ||
                         !stated(workload, "workload.think_time").empty();
  return has_times || stated(workload, "workload.max_concurrency").empty()
             ? 0
             : ranks_of(workload, "workload.max_concurrency");
}

}  // namespace

bool is_observed(const document::Node& record) {
  return record.find("ridgeline_observed") != nullptr;
}

Evidence read_observed(const std::vector<ResultLine>& lines) {
  Evidence evidence;
  evidence.family = "observed";
  evidence.generator = "ridgeline observe";
  evidence.stage = "0";
  evidence.tells_server = false;
  evidence.tpot_to_last_token = true;
  evidence.generation_config = "vllm";  // It asks for temperature 0.
  evidence.unsound = "the record has no end: the measurement was cut off";
  Rows rows;
  std::int64_t clients = 0;
  const document::Node* head = nullptr;
  const document::Node* tail = nullptr;
  for (const auto& [number, node] : lines) {
    if (!node) {
      rows.add_unreadable(fmt::format("line {}: {}", number, node.error().front().message));
    } else if (is_observed(*node)) {
      evidence.id = fmt::format("{} {}", text_at(*node, "target"), text_at(*node, "started"));
      evidence.date = text_at(*node, "started").substr(0, std::string_view("2026-01-01").size());
      read_server(*node, evidence);
      clients = clients_of(*node);
      head = &*node;
    } else if (node->find("ridgeline_observed_end") != nullptr) {
      read_end(*node, evidence);
      tail = &*node;
    } else if (node->find("scrape_s") == nullptr) {
      rows.add(*node, number);
    }
  }
  if (rows.failed() > 0) {
    evidence.left_out.push_back(
        fmt::format("{} {} that failed", rows.failed(), core::plural("request", rows.failed())));
  }
  auto sound = sound_requests(rows.take(), evidence);
  doubt_cached(rows.cached(), sound, evidence);
  if (!evidence.unsound.empty()) {
    evidence.doubts.push_back(fmt::format("the measurement is unsound: {}", evidence.unsound));
  }
  leave_out(head, tail, sound, evidence);
  evidence.measured = figures_of_requests(sound);
  evidence.closed_loop = clients > 0;
  const auto count = static_cast<double>(sound.size());
  evidence.stages.push_back(clients > 0 ? closed_load(count, static_cast<double>(clients))
                                        : open_load(count, 0.0, StageLoad::Kind::kRandom));
  if (!sound.empty()) {
    measure_rates(sound, evidence);
  }
  replay_requests(std::move(sound), evidence, evidence.stages.front());
  require_load(evidence);
  return evidence;
}

}  // namespace ridgeline::evidence::validate
