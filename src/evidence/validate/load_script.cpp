#include "evidence/validate/load_script.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/distributions.hpp"
#include "core/ids.hpp"
#include "core/math.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/measured_run.hpp"
#include "evidence/validate/staged_source.hpp"
#include "scenario/rank_share.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// Contents of segments: the prefix of all prompts, one number per group, one per prompt.
constexpr std::uint64_t kSharedContent = 1;
constexpr std::uint64_t kGroupContent = std::uint64_t{1} << 32;
constexpr std::uint64_t kPromptContent = std::uint64_t{1} << 33;
constexpr double kLongest = 16'777'216;  // 2^24 tokens: past every network

/// A place in a bin that is drawn by its share.
double draw_bin(const TokenCounts& law, core::RngStream& rng) {
  const auto bin = std::ranges::lower_bound(law.up_to, rng.uniform());
  const double number = static_cast<double>(bin - law.up_to.begin()) + rng.uniform();
  const double share = number / static_cast<double>(law.up_to.size());
  return law.lowest + std::min(1.0, share) * (law.highest - law.lowest);
}

std::int64_t draw_tokens(const TokenCounts& law, core::RngStream rng) {
  double value = law.mean;
  if (law.law == TokenCounts::Law::kUniform) {
    value = law.lowest + (law.highest - law.lowest) * rng.uniform();
  } else if (law.law == TokenCounts::Law::kNormal) {
    value = std::clamp(core::normal(rng, law.mean, law.std), law.lowest, law.highest);
  } else if (law.law == TokenCounts::Law::kLogNormal) {
    const double log_mean = core::log(law.mean) - 0.5 * law.std * law.std;
    value = std::clamp(
        core::lognormal(rng, {.mean = log_mean, .std_dev = law.std}), law.lowest, law.highest);
  } else if (law.law == TokenCounts::Law::kHistogram) {
    value = draw_bin(law, rng);
  }
  return static_cast<std::int64_t>(std::floor(std::clamp(value, 1.0, kLongest) + 0.5));
}

/// The instants of a stage's requests since its start, ascending.
std::vector<double> draw_arrivals(const StageLoad& load, std::uint64_t seed, std::uint64_t number) {
  const auto count = static_cast<std::size_t>(load.requests);
  std::vector<double> instants(count, 0.0);
  core::RngStream rng(seed, 0, "stage arrivals", number);
  for (std::size_t i = 0; i < count; ++i) {
    switch (load.kind) {
      case StageLoad::Kind::kRandom:
        instants[i] = rng.uniform() * load.duration_s;
        break;
      case StageLoad::Kind::kEven:
        instants[i] = load.duration_s * static_cast<double>(i) / static_cast<double>(count);
        break;
      case StageLoad::Kind::kRecorded:
        instants[i] = load.rows[i].arrival_s;
        break;
      case StageLoad::Kind::kAtOnce:
      case StageLoad::Kind::kClosed:
        break;
    }
  }
  std::ranges::sort(instants);
  return instants;
}

void add_segment(std::vector<domain::Segment>& prompt, std::uint64_t content, std::int64_t length) {
  if (length > 0) {
    prompt.push_back({.content = content, .length = core::Tokens(length)});
  }
}

/// What a prompt holds that others hold too.
std::vector<domain::Segment> shared_parts(const PromptSharing& sharing,
                                          const TokenCounts& lengths,
                                          std::int64_t prompt,
                                          std::int64_t tokens) {
  std::vector<domain::Segment> parts;
  const std::int64_t prefix = std::min(sharing.shared_prefix, tokens);
  add_segment(parts, kSharedContent, prefix);
  if (sharing.distinct_prompts == 0) {
    return parts;
  }
  // The group's system prompt is one text: as long in every prompt.
  const auto system = std::min(
      tokens - prefix, static_cast<std::int64_t>(std::floor(sharing.system_share * lengths.mean)));
  const auto group = static_cast<std::uint64_t>(prompt / sharing.prompts_per_group);
  add_segment(parts, kGroupContent + group, system);
  add_segment(parts, kPromptContent + static_cast<std::uint64_t>(prompt), tokens - prefix - system);
  return parts;
}

/// Stages with arrivals on a clock of their own, which do not wait for answers.
bool runs_on_the_clock(const StageLoad& load) {
  return load.kind == StageLoad::Kind::kRandom || load.kind == StageLoad::Kind::kEven;
}

}  // namespace

LoadScript::LoadScript(const MeasuredRun& run,
                       const Evidence& facts,
                       std::uint64_t seed,
                       std::int64_t ranks,
                       std::atomic<bool>* all_sent)
    : all_sent_(all_sent) {
  for (std::size_t i = 0; i < run.stages.size(); ++i) {
    plan(run.stages[i], facts, seed, i, ranks);
    const bool clocked = runs_on_the_clock(run.stages[i]);
    stages_.back().drains = i > 0 && !(clocked && runs_on_the_clock(run.stages[i - 1]));
    waits_ = waits_ || stages_.back().drains || stages_.back().concurrency > 0;
  }
  RIDGELINE_CHECK(!stages_.empty(), "a run without load");
  for (std::int64_t i = 0; i < stages_.front().concurrency; ++i) {
    free_.push(stage_start_);
  }
}

void LoadScript::plan(const StageLoad& load,
                      const Evidence& facts,
                      std::uint64_t seed,
                      std::uint64_t number,
                      std::int64_t ranks) {
  const bool closed = load.kind == StageLoad::Kind::kClosed;
  const scenario::RankShare share(
      ranks,
      {.clients = closed ? std::optional(load.concurrency) : std::nullopt,
       .closed_loop = closed,
       .requests = load.requests});
  Stage stage;
  stage.begin = requests_.size();
  stage.concurrency = closed ? share.clients(load.concurrency) : 0;
  stage.of_all_ranks = load.requests;
  stage.length = core::Duration::saturating(core::Seconds(load.duration_s));
  const auto instants = draw_arrivals(load, seed, number);
  std::int64_t before = 0;
  for (const auto& known : stages_) {
    before += known.of_all_ranks;
  }
  for (std::int64_t n = 0; n < share.requests(load.requests); ++n) {
    const auto i = static_cast<std::size_t>(share.number(n));
    // What a request holds follows from its number in the deployment.
    const auto id = static_cast<std::uint64_t>(before) + i;
    domain::Request request;
    request.id = core::RequestId(static_cast<core::RequestId::Rep>(requests_.size()));
    request.arrival = core::SimTime::at(core::Duration::saturating(core::Seconds(instants[i])));
    const auto& sharing = facts.sharing;
    const std::int64_t prompt =
        sharing.distinct_prompts > 0 ? static_cast<std::int64_t>(id) % sharing.distinct_prompts : 0;
    const std::uint64_t text =
        sharing.distinct_prompts > 0 ? static_cast<std::uint64_t>(prompt) : id;
    const bool recorded = i < load.rows.size();
    const std::int64_t input =
        recorded ? load.rows[i].input_tokens
                 : draw_tokens(facts.input, core::RngStream(seed, 0, "prompt length", text));
    const std::int64_t output =
        recorded ? load.rows[i].output_tokens
                 : draw_tokens(facts.output, core::RngStream(seed, 0, "answer length", id));
    request.prompt_tokens = core::Tokens(input);
    request.output_tokens = core::Tokens(output);
    request.max_tokens = request.output_tokens;
    request.prompt = shared_parts(sharing, facts.input, prompt, input);
    requests_.push_back(std::move(request));
  }
  stage.end = requests_.size();
  stages_.push_back(stage);
}

double LoadScript::times_rank(const MeasuredRun::Part& part) const {
  double all = 0.0;
  double own = 0.0;
  for (std::size_t i = part.first; i < part.last; ++i) {
    all += static_cast<double>(stages_[i].of_all_ranks);
    own += static_cast<double>(stages_[i].end - stages_[i].begin);
  }
  return own > 0.0 ? all / own : 1.0;
}

void LoadScript::advance() {
  while (next_ == stages_[stage_].end && stage_ + 1 < stages_.size()) {
    const Stage& following = stages_[stage_ + 1];
    if (following.drains) {
      if (completed_ < next_) {
        return;
      }
      stage_start_ = core::SimTime::saturating_sum(last_completion_, kRest);
    } else {
      stage_start_ = core::SimTime::saturating_sum(stage_start_, stages_[stage_].length);
    }
    ++stage_;
    free_ = {};
    for (std::int64_t i = 0; i < following.concurrency; ++i) {
      free_.push(stage_start_);
    }
  }
}

std::optional<core::SimTime> LoadScript::next_arrival() {
  advance();
  if (next_ == stages_[stage_].end) {
    return std::nullopt;
  }
  if (stages_[stage_].concurrency == 0) {
    return core::SimTime::saturating_sum(stage_start_, requests_[next_].arrival.since_start());
  }
  if (free_.empty()) {
    return std::nullopt;
  }
  return free_.top();
}

domain::Request LoadScript::pop() {
  const auto arrival = next_arrival();
  RIDGELINE_CHECK(arrival.has_value(), "no request to take");
  if (stages_[stage_].concurrency > 0) {
    free_.pop();
  }
  domain::Request request = requests_[next_];
  request.arrival = *arrival;
  ++next_;
  if (all_sent_ != nullptr && next_ == requests_.size()) {
    *all_sent_ = true;
  }
  return request;
}

void LoadScript::on_completion(core::RequestId id, core::SimTime time) {
  ++completed_;
  last_completion_ = time;
  if (stages_[stage_].concurrency > 0 && stage_of(id) == stage_) {
    free_.push(time);
  }
}

std::size_t LoadScript::stage_of(core::RequestId id) const {
  std::size_t stage = 0;
  while (id.value() >= stages_[stage].end) {
    ++stage;
  }
  return stage;
}

}  // namespace ridgeline::evidence::validate
