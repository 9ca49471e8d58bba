#include "lab/records/record_workload.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "lab/records/data_sets.hpp"
#include "lab/records/evidence_words.hpp"
#include "lab/records/ladder.hpp"
#include "lab/records/record_identity.hpp"
#include "lab/records/record_refusals.hpp"
#include "lab/records/request_log.hpp"
#include "plan/space.hpp"

namespace ridgeline::records {
namespace {

/// Prompts made of decoded random tokens are longer when tokenised again: 1.04 to 1.05 times, by
/// the runs that measured it.
constexpr double kRetokenisedGrowth = 1.04;
/// And differ by about so much either way.
constexpr double kRetokenisedSpread = 0.02;
/// Sweeps that nothing is published of but their figures: neither how prompts are made nor how
/// clients are paced.
constexpr std::string_view kUnknownPacing = "gap-analysis";
/// What fixed-length benchmark recipes draw from, as a share of the nominal length.
constexpr double kLowestLengthShare = 0.8;
/// Requests of a closed loop per client in such recipes.
constexpr std::int64_t kRequestsPerClient = 10;

TokenCounts fixed(double tokens) {
  return {.law = TokenCounts::Law::kFixed, .mean = tokens, .lowest = tokens, .highest = tokens};
}
TokenCounts uniform(double lowest, double highest) {
  return {.law = TokenCounts::Law::kUniform,
          .mean = 0.5 * (lowest + highest),
          .lowest = lowest,
          .highest = highest};
}

std::optional<TokenCounts> measured_counts(const document::Node& node) {
  for (const std::string_view key : {"measured_prompt_len", "measured"}) {
    const document::Node* measured = member_at(node, key);
    const auto mean = measured != nullptr ? number_at(*measured, "mean") : std::nullopt;
    if (mean) {
      const double lowest = number_at(*measured, "min").value_or(*mean);
      const double highest = number_at(*measured, "max").value_or(*mean);
      // As wide as seen, around the mean that was seen.
      const double reach = std::min(*mean - lowest, highest - *mean);
      return uniform(*mean - reach, *mean + reach);
    }
  }
  return std::nullopt;
}

/// The distribution of a record's token counts; nothing when the record does not say. `assumed`
/// gets what was taken for granted.
std::optional<TokenCounts> read_token_counts(const document::Node& node,
                                             std::string_view what,
                                             std::vector<std::string>& assumed) {
  if (auto measured = measured_counts(node)) {
    return measured;
  }
  const std::string kind = text_at(node, "kind");
  auto nominal = number_at(node, "nominal_tokens");
  if (!nominal) {
    nominal = number_at(node, "tokens");
  }
  if (mentions(kind, "normal") && number_at(node, "mean")) {
    const double mean = *number_at(node, "mean");
    const double std = number_at(node, "stdev").value_or(number_at(node, "std").value_or(0.0));
    return TokenCounts{.law = TokenCounts::Law::kNormal,
                       .mean = mean,
                       .std = std,
                       .lowest = number_at(node, "min").value_or(1.0),
                       .highest = number_at(node, "max").value_or(mean + 4.0 * std)};
  }
  if (number_at(node, "min") && number_at(node, "max") && !nominal) {
    return uniform(*number_at(node, "min"), *number_at(node, "max"));
  }
  for (const std::string_view key : {"mean", "observed_mean"}) {
    nominal = nominal ? nominal : number_at(node, key);
  }
  if (!nominal || *nominal < 1.0) {
    return std::nullopt;
  }
  if (mentions(kind, "fixed-per-prompt")) {
    const double mean = *nominal * kRetokenisedGrowth;
    assumed.push_back(fmt::format(
        "{} of {:.0f} tokens +-{:.0f} %: {} times the nominal, as random text is tokenised again",
        what,
        mean,
        kRetokenisedSpread * 100.0,
        kRetokenisedGrowth));
    return uniform(mean * (1.0 - kRetokenisedSpread), mean * (1.0 + kRetokenisedSpread));
  }
  if (mentions(kind, "uniform")) {
    return uniform(*nominal * kLowestLengthShare, *nominal);
  }
  return fixed(*nominal);
}

void read_sharing(const document::Node& workload, Evidence& evidence) {
  PromptSharing& sharing = evidence.sharing;
  if (const document::Node* prefix = member_at(workload, "prefix")) {
    sharing.distinct_prompts = count_at(*prefix, "distinct_prompts").value_or(0);
    sharing.prompts_per_group =
        std::max<std::int64_t>(1, count_at(*prefix, "prompts_per_group").value_or(1));
    if (const auto groups = count_at(*prefix, "num_groups"); groups && evidence.fleet) {
      // prompts_per_group counts the prompts of each group.
      sharing.distinct_prompts =
          std::min(*groups, kMostRequests) * std::min(sharing.prompts_per_group, kMostRequests);
    } else {
      sharing.shared_prefix = count_at(*prefix, "shared_prefix_tokens")
                                  .value_or(count_at(*prefix, "shared").value_or(0));
    }
  }
  if (const document::Node* input = member_at(workload, "input")) {
    const double system = number_at(*input, "system_prompt_len").value_or(0.0);
    const double question = number_at(*input, "question_len").value_or(0.0);
    if (system > 0.0 && question > 0.0) {
      sharing.system_share = system / (system + question);
    }
    sharing.shared_prefix =
        std::max(sharing.shared_prefix, count_at(*input, "plus_shared_prefix_tokens").value_or(0));
  }
}

StageLoad::Kind arrival_kind(std::string_view arrival) {
  if (mentions(arrival, "t=0") || mentions(arrival, "at once") || mentions(arrival, "=inf")) {
    return StageLoad::Kind::kAtOnce;
  }
  if (mentions(arrival, "evenly")) {
    return StageLoad::Kind::kEven;
  }
  return StageLoad::Kind::kRandom;
}

StageLoad open_stage(const document::Node& node, StageLoad::Kind kind) {
  StageLoad stage;
  stage.kind = kind;
  stage.duration_s =
      number_at(node, "duration_s").value_or(number_at(node, "min_duration_s").value_or(0.0));
  stage.requests = count_at(node, "num_requests").value_or(0);
  return stage;
}

/// MLPerf states the least time of a run, which many requests fill: here it lasts until every GPU
/// had the data set once.
void shorten_mlperf(const document::Node& workload, Evidence& evidence, StageLoad& stage) {
  const auto rate = number_at(workload, "rate_rps");
  const auto samples = number_at(workload, "dataset_samples");
  if (member_at(workload, "min_duration_s") == nullptr || !rate || !samples || *rate <= 0.0) {
    return;
  }
  const double gpus = std::max(1.0, static_cast<double>(evidence.num_gpus));
  const double seconds = std::floor(*samples * gpus / *rate);
  if (seconds >= 1.0 && seconds < stage.duration_s) {
    evidence.assumed.push_back(fmt::format("{:.0f} s of the {:.0f} s", seconds, stage.duration_s));
    stage.duration_s = seconds;
  }
}

/// The digits of "stage1", "p5-constant" or "1"; the text itself where it has none.
std::string stage_number(const std::string& stage) {
  if (stage.starts_with(kFirstRequests)) {
    return "0";  // "first300": of the first stage
  }
  std::string digits;
  for (const char c : stage) {
    if (c >= '0' && c <= '9') {
      digits += c;
    } else if (!digits.empty()) {
      break;
    }
  }
  return digits.empty() ? stage : digits;
}

/// MLPerf's offline scenario sends a data set many times over and counts the steady middle of a
/// run: here each instance gets the set once.
void read_offline(const document::Node& workload, Evidence& evidence) {
  StageLoad stage = open_stage(workload, StageLoad::Kind::kAtOnce);
  stage.name = stage_number(evidence.stage);
  if (stage.requests == 0) {
    const auto samples = count_at(workload, "dataset_samples");
    if (!samples) {
      evidence.problem = "workload: num_requests and dataset_samples are missing";
      return;
    }
    stage.requests = *samples * std::max<std::int64_t>(1, evidence.num_gpus);
    evidence.assumed.push_back(
        fmt::format("{} requests: the data set once for every GPU", stage.requests));
  }
  evidence.stages.push_back(std::move(stage));
}

/// Fills what a rate, a duration and a count leave open of each other.
bool complete_open_stage(StageLoad& stage, std::optional<double> rate) {
  if (stage.requests == 0 && rate && stage.duration_s > 0.0) {
    // What is beyond the limit of a record is refused with it (evidence_limits.hpp).
    stage.requests = static_cast<std::int64_t>(
        std::clamp(std::floor(*rate * stage.duration_s + 0.5), 0.0, 1e15));
  }
  if (stage.duration_s <= 0.0 && rate && *rate > 0.0) {
    stage.duration_s = static_cast<double>(stage.requests) / *rate;
  }
  return stage.requests > 0 && (stage.duration_s > 0.0 || stage.kind == StageLoad::Kind::kAtOnce);
}

/// How many requests are in flight, where a member says so; 0 without. What is none is the record's
/// problem.
std::int64_t read_concurrency(const document::Node& workload,
                              std::string_view key,
                              Evidence& evidence) {
  const document::Node* stated = member_at(workload, key);
  const std::int64_t count = count_at(workload, key).value_or(0);
  if (stated != nullptr && count < 1) {
    evidence.problem = fmt::format("workload.{} is {}, expected a whole number from 1 to {}",
                                   key,
                                   stated->describe(),
                                   kMostRequests);
  }
  return count;
}

void read_closed_loop(const document::Node& workload, Evidence& evidence) {
  evidence.closed_loop = true;
  StageLoad stage;
  stage.kind = StageLoad::Kind::kClosed;
  stage.name = stage_number(evidence.stage);
  stage.concurrency = read_concurrency(workload, "concurrency", evidence);
  if (stage.concurrency == 0) {
    stage.concurrency = number_after(text_at(workload, "arrival"), "concurrency=").value_or(0);
  }
  if (stage.concurrency <= 0) {
    stage.concurrency = read_concurrency(workload, "batch_per_engine", evidence);
  }
  if (!evidence.problem.empty()) {
    return;
  }
  if (stage.concurrency <= 0) {
    evidence.problem =
        "workload.concurrency is missing: how many requests are in flight is unknown";
    return;
  }
  stage.requests = count_at(workload, "num_requests").value_or(0);
  if (evidence.steady_state && stage.requests < stage.concurrency * kRequestsPerClient) {
    stage.requests = stage.concurrency * kRequestsPerClient;
    evidence.assumed.push_back(fmt::format(
        "{} requests, {} a client, for a steady state", stage.requests, kRequestsPerClient));
  }
  if (stage.requests == 0) {
    stage.requests = stage.concurrency * kRequestsPerClient;
    evidence.assumed.push_back(
        fmt::format("{} requests: {} a client", stage.requests, kRequestsPerClient));
  }
  evidence.stages.push_back(std::move(stage));
}

/// One batch, whose requests come together.
void read_static_batch(const document::Node& workload, Evidence& evidence) {
  StageLoad stage;
  stage.kind = StageLoad::Kind::kAtOnce;
  stage.name = stage_number(evidence.stage);
  stage.requests = read_concurrency(workload, "concurrency", evidence);
  stage.concurrency = stage.requests;
  if (stage.requests == 0) {
    if (evidence.problem.empty()) {
      evidence.problem = "workload.concurrency is missing: the size of the batch is unknown";
    }
    return;
  }
  evidence.stages.push_back(std::move(stage));
}

/// So few requests that none meets another.
void read_low_load(Evidence& evidence) {
  evidence.closed_loop = true;
  StageLoad stage;
  stage.kind = StageLoad::Kind::kClosed;
  stage.name = stage_number(evidence.stage);
  stage.concurrency = 1;
  stage.requests = kRequestsPerClient;
  evidence.stages.push_back(std::move(stage));
  evidence.assumed.push_back(
      fmt::format("{} requests, one after the other: low load", kRequestsPerClient));
}

void fall_out_of_step(Evidence& evidence) {
  const bool several = !evidence.stages.empty() && evidence.stages.front().concurrency > 1;
  if (several && evidence.output.law == TokenCounts::Law::kFixed) {
    const double mean = evidence.output.mean;
    evidence.output = uniform(mean * (1.0 - plan::kOutOfStep), mean * (1.0 + plan::kOutOfStep));
    evidence.assumed.push_back(
        fmt::format("answers {:.0f} % longer or shorter, so that clients fall out of step",
                    100.0 * plan::kOutOfStep));
  }
}

void read_open_loop(const document::Node& workload, Evidence& evidence) {
  const auto kind = arrival_kind(text_at(workload, "arrival"));
  const document::Node* stages = member_at(workload, "stages");
  if (stages != nullptr && stages->is_list() && !stages->items().empty()) {
    const bool whole = stages->items().size() > 1;
    for (std::size_t i = 0; i < stages->items().size(); ++i) {
      const document::Node& node = stages->items()[i];
      StageLoad stage = open_stage(node, kind);
      // A summary of a single stage is that stage.
      const bool numbered = evidence.stage.find_first_of("0123456789") != std::string::npos;
      stage.name = whole || !numbered ? fmt::format("{}", i) : stage_number(evidence.stage);
      if (!complete_open_stage(stage, number_at(node, "rate_rps"))) {
        evidence.problem = "workload.stages: rate, duration and number of requests are missing";
        return;
      }
      evidence.stages.push_back(std::move(stage));
    }
  } else {
    StageLoad stage = open_stage(workload, kind);
    shorten_mlperf(workload, evidence, stage);
    stage.name = stage_number(evidence.stage);
    if (!complete_open_stage(stage, number_at(workload, "rate_rps"))) {
      evidence.problem = "workload: rate, duration and number of requests are missing";
      return;
    }
    evidence.stages.push_back(std::move(stage));
  }
  double requests = 0.0;
  double seconds = 0.0;
  for (const auto& stage : evidence.stages) {
    requests += static_cast<double>(stage.requests);
    seconds += stage.duration_s;
  }
  if (seconds > 0.0) {
    evidence.offered_per_s = requests / seconds;
  }
}

void read_replay(const document::Node& workload, RequestLogs& logs, Evidence& evidence) {
  const std::string file = text_at(workload, "replay_file");
  auto rows = logs.read(file, evidence.run, stage_number(evidence.stage), evidence.left_out);
  if (!rows) {
    evidence.problem =
        fmt::format("workload.replay_file {}: {}", file, rows.error().front().message);
    return;
  }
  StageLoad stage;
  stage.name = stage_number(evidence.stage);
  stage.rows = std::move(*rows);
  stage.requests = static_cast<std::int64_t>(stage.rows.size());
  stage.concurrency = read_concurrency(workload, "concurrency", evidence);
  stage.kind = StageLoad::Kind::kRecorded;
  if (stage.concurrency > 0) {
    stage.kind = StageLoad::Kind::kClosed;
    evidence.closed_loop = true;
  }
  evidence.stages.push_back(std::move(stage));
}

}  // namespace

void read_workload(const document::Node& workload, RequestLogs& logs, Evidence& evidence) {
  evidence.generator = text_at(workload, "generator");
  evidence.workload = text_at(workload, "name");
  evidence.guessed_load =
      mentions(evidence.generator, kUnknownPacing) || mentions(evidence.generator, "MLPerf");
  read_sharing(workload, evidence);
  if (member_at(workload, "replay_file") != nullptr) {
    read_replay(workload, logs, evidence);
    return;
  }
  const document::Node* input = member_at(workload, "input");
  const document::Node* output = member_at(workload, "output");
  auto prompts =
      input != nullptr
          ? data_set_prompts(evidence.workload, text_at(*input, "kind"), evidence.assumed)
          : std::nullopt;
  if (!prompts && input != nullptr) {
    prompts = read_token_counts(*input, "prompt", evidence.assumed);
  }
  if (input != nullptr && mentions(text_at(*input, "kind"), "guess")) {
    evidence.guessed_load = true;
  }
  if (!prompts && mentions(evidence.generator, "MLPerf")) {
    prompts = mlperf_prompts(evidence.workload, evidence.assumed);
  }
  auto answers = output != nullptr ? histogram_counts(*output) : std::nullopt;
  if (!answers && output != nullptr) {
    answers = read_token_counts(*output, "answer", evidence.assumed);
  }
  if (!answers && evidence.fleet && ladder_of(*evidence.fleet).is_apart) {
    answers = fixed(1.0);
    evidence.assumed.emplace_back(
        "answers of one token: the least for which the decode instance has a first one");
  }
  if (!prompts || !answers) {
    evidence.problem = no_length(workload, prompts ? "output" : "input");
    return;
  }
  if (output != nullptr && mentions(text_at(*output, "kind"), "as input") &&
      prompts->law == TokenCounts::Law::kUniform) {
    answers = uniform(answers->mean * kLowestLengthShare, answers->mean);
  }
  evidence.input = *prompts;
  evidence.output = *answers;
  if (text_at(workload, "loop") == "static batch") {
    read_static_batch(workload, evidence);
  } else if (text_at(workload, "loop") == "offline") {
    read_offline(workload, evidence);
  } else if (mentions(text_at(workload, "loop"), "low load")) {
    read_low_load(evidence);
  } else if (text_at(workload, "loop").starts_with("closed")) {
    read_closed_loop(workload, evidence);
    fall_out_of_step(evidence);
  } else {
    read_open_loop(workload, evidence);
  }
}

}  // namespace ridgeline::records
