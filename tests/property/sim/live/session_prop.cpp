// The law of a live session: the replay of its arrival log is the same run, to the picosecond,
// whatever the clock showed when. RIDGELINE_SERVE_SESSIONS and RIDGELINE_SERVE_SEED set how many
// sessions, and which (./dev properties serve).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/prompt.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/token_sink.hpp"
#include "engine/instance.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/live/arrival_log.hpp"
#include "sim/live/clock.hpp"
#include "sim/live/session.hpp"
#include "sim/simulation.hpp"
#include "workload/replay.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/byte_input.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::live {
namespace {

/// Under ctest; ./dev properties serve runs more.
constexpr std::int64_t kUsualSessions = 300;

std::int64_t number_from(const char* name, std::int64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

/// A file in memory.
class TextFile final : public LogFile {
 public:
  explicit TextFile(std::string& text) : text_(text) {}
  bool append(std::string_view text) override {
    text_ += text;
    return true;
  }
  bool overwrite(std::int64_t at, std::string_view text) override {
    text_.replace(static_cast<std::size_t>(at), text.size(), text);
    return true;
  }

 private:
  std::string& text_;
};

/// Tokens and ends, in the order in which they are reported.
class Heard final : public Events, public domain::TokenSink {
 public:
  using Token = std::pair<core::SimTime, domain::TokenEvent>;
  void on_tokens(core::SimTime end, std::span<const domain::TokenEvent> events) override {
    for (const domain::TokenEvent& event : events) {
      tokens_.emplace_back(end, event);
    }
  }
  void on_end(const domain::RequestRecord& record) override { ended_[record.id] = record; }
  void on_steps(const domain::StepRecord& record) override { static_cast<void>(record); }

  /// By time, request: instances of a cluster do not tell in the order of time.
  [[nodiscard]] std::vector<Token> tokens() const {
    std::vector<Token> all = tokens_;
    std::ranges::sort(all, [](const Token& a, const Token& b) {
      return std::pair(a.first, a.second.request) < std::pair(b.first, b.second.request);
    });
    return all;
  }
  [[nodiscard]] const std::map<core::RequestId, domain::RequestRecord>& ended() const {
    return ended_;
  }

 private:
  std::vector<Token> tokens_;
  std::map<core::RequestId, domain::RequestRecord> ended_;
};

class Draws {
 public:
  Draws(std::int64_t seed, std::int64_t session)
      : stream_(
            static_cast<std::uint64_t>(seed), 0, "session", static_cast<std::uint64_t>(session)) {}
  /// lowest to highest.
  std::int64_t between(std::int64_t lowest, std::int64_t highest) {
    return lowest + static_cast<std::int64_t>(
                        stream_.below(static_cast<std::uint64_t>(highest - lowest + 1)));
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  template <class T>
  const T& of(const std::vector<T>& all) {
    return all[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(all.size()) - 1))];
  }

 private:
  core::RngStream stream_;
};

/// Small engines, and clusters of them: few blocks, so that requests give way to each other.
const scenario::Resolved& random_deployment(Draws& draws) {
  static std::map<std::string, std::unique_ptr<scenario::Resolved>> made;
  const std::string version =
      draws.of<std::string>({"vllm@0.8", "vllm@0.11", "vllm@0.15", "vllm@0.20", "sglang"});
  const bool is_vllm = version.starts_with("vllm");
  const std::string cluster = draws.of<std::string>({"", "", "", "random", "least-request"});
  const std::string blocks = draws.of<std::string>({"60", "60", "400"});
  const std::string seats = draws.of<std::string>({"3", "16"});
  const std::string policy = is_vllm && version != "vllm@0.8" && draws.one_in(4) ? "priority" : "";
  const std::string path = draws.of<std::string>({"on", "on", "off"});
  // As `serve` has them now and then: a sketch has room for all values that there are, and to clear
  // it takes longer than such a session.
  const std::string percentiles = draws.one_in(20) ? "sketch" : "exact";
  auto& slot = made[percentiles + version + cluster + "/" + blocks + "/" + seats + policy + path];
  if (!slot) {
    std::vector<scenario::Override> all = {
        {"model", "llama-3.1-8b"},
        {"gpu", "h100"},
        {"engine.version", version},
        {"engine.max_model_len", "600"},
        {"request_path", path},
        {"percentiles", percentiles},
    };
    if (is_vllm) {
      all.push_back({"engine.num_gpu_blocks", blocks});
      all.push_back({"engine.max_num_seqs", seats});
      all.push_back({"engine.max_num_batched_tokens", "256"});
    }
    if (!policy.empty()) {
      all.push_back({"engine.scheduling_policy", policy});
    }
    if (!cluster.empty()) {
      all.push_back({"cluster.instances", "2"});
      all.push_back({"cluster.router.name", cluster});
    }
    auto loaded = scenario::load_scenario(std::nullopt, all, scenario::Purpose::kLook);
    EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : core::to_string(loaded.error().front()));
    auto resolved = scenario::resolve(std::move(*loaded));
    EXPECT_TRUE(resolved.has_value())
        << (resolved ? "" : core::to_string(resolved.error().front()));
    slot = std::make_unique<scenario::Resolved>(std::move(*resolved));
  }
  return *slot;
}

/// A new prompt, one that begins as others do, or one that goes on from an earlier answer.
domain::Request random_request(Draws& draws, const std::vector<domain::Request>& sent) {
  domain::Request request;
  const auto add = [&](std::uint64_t content, std::int64_t length) {
    request.prompt.push_back({content, core::Tokens(length)});
    request.prompt_tokens += core::Tokens(length);
  };
  if (!sent.empty() && draws.one_in(3)) {
    const domain::Request& earlier = draws.of(sent);
    const std::int64_t answer = draws.between(1, earlier.output_tokens.value());
    if ((earlier.prompt_tokens + core::Tokens(answer)).value() < 400) {
      request.prompt = earlier.prompt;
      request.prompt_tokens = earlier.prompt_tokens;
      add(domain::output_content(earlier.id), answer);
    }
  }
  if (draws.one_in(3)) {
    add(static_cast<std::uint64_t>(draws.between(1, 3)), draws.of<std::int64_t>({16, 32, 100}));
  }
  add(static_cast<std::uint64_t>(draws.between(100, 1'000'000'000)), draws.between(1, 90));
  request.output_tokens = core::Tokens(draws.between(1, 60));
  request.max_tokens = request.output_tokens + core::Tokens(draws.of<std::int64_t>({0, 0, 7}));
  request.priority = static_cast<std::int32_t>(draws.of<std::int64_t>({0, 0, -1, 2}));
  if (draws.one_in(4)) {
    request.session = core::SessionId(static_cast<std::uint32_t>(draws.between(0, 3)));
  }
  return request;
}

struct Lived {
  std::string log;
  std::string digest;
  std::vector<Heard::Token> tokens;
  std::int64_t preemptions = 0;
  std::int64_t aborted = 0;
  std::int64_t cached = 0;
};

/// Clients that come, chat and leave, under a clock that is read at odd times.
Lived live_through(Draws& draws, const scenario::Resolved& resolved) {
  Lived lived;
  ManualClock clock;
  Heard heard;
  auto session = Session::open(
      resolved,
      clock,
      heard,
      std::make_unique<ArrivalLog>(std::make_unique<TextFile>(lived.log)),
      {.core = draws.one_in(2) ? engine::EngineCore::kFast : engine::EngineCore::kReference});
  EXPECT_TRUE(session.has_value());
  Session& live = **session;
  std::vector<domain::Request> sent;
  const std::int64_t turns = draws.between(1, 120);
  const std::int64_t pace = draws.of<std::int64_t>({1, 2'000'000, 500'000'000, 40'000'000'000});
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    switch (draws.between(0, 6)) {
      case 0:
      case 1:
        clock.set(clock.now() + core::Duration::ticks(draws.between(0, pace)));
        break;
      case 2:  // As a server that sleeps until something happens, and wakes up late.
        if (const core::SimTime next = live.next_instant(); next != core::SimTime::never()) {
          clock.set(std::max(clock.now(), next) + core::Duration::ticks(draws.between(0, pace)));
        }
        break;
      case 3:
        live.advance();
        break;
      case 4:
        if (!sent.empty()) {
          const domain::Request& request = draws.of(sent);
          if (!heard.ended().contains(request.id)) {
            live.abort(request.id);
          }
        }
        break;
      default: {
        domain::Request request = random_request(draws, sent);
        // As a server that has read it, and was busy with others since.
        const core::SimTime now = clock.now();
        const core::Duration since = core::Duration::ticks(draws.between(0, pace));
        request.id =
            live.submit(request, since > now.since_start() ? core::SimTime() : now - since);
        sent.push_back(std::move(request));
        break;
      }
    }
    if (draws.one_in(10)) {
      live.flush_log();
    }
  }
  const auto outcome = live.finish();
  EXPECT_TRUE(outcome.has_value());
  EXPECT_EQ(heard.ended().size(), sent.size());
  lived.digest = outcome->digest;
  lived.tokens = heard.tokens();
  for (const auto& [id, record] : heard.ended()) {
    lived.preemptions += record.preemptions;
    lived.aborted += record.outcome == domain::Outcome::kAborted ? 1 : 0;
    lived.cached += record.cached_tokens.value();
  }
  return lived;
}

void expect_same_replay(const Lived& lived, const scenario::Resolved& resolved) {
  auto items = workload::open_items(
      workload::make_plain_input(std::make_unique<std::istringstream>(lived.log)),
      "arrivals.jsonl",
      {.format = &workload::kRequestJsonl, .keep_absolute_answers = true});
  ASSERT_TRUE(items.has_value());
  const auto source = workload::make_replay(std::move(*items));
  Heard heard;
  sim::RunControls controls;
  controls.tokens = &heard;
  const auto outcome = sim::simulate(resolved, *source, controls);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->digest, lived.digest);
  EXPECT_TRUE(heard.tokens() == lived.tokens);
}

TEST(LiveSessions, AreWhatTheReplayOfTheirLogIs) {
  const std::int64_t sessions = number_from("RIDGELINE_SERVE_SESSIONS", kUsualSessions);
  const std::int64_t seed = number_from("RIDGELINE_SERVE_SEED", 1);
  std::int64_t preemptions = 0;
  std::int64_t aborted = 0;
  std::int64_t cached = 0;
  std::int64_t num_tokens = 0;
  for (std::int64_t i = 0; i < sessions; ++i) {
    Draws draws(seed, i);
    const scenario::Resolved& resolved = random_deployment(draws);
    const Lived lived = live_through(draws, resolved);
    if (lived.tokens.empty() && lived.log.find("arrival_s") == std::string::npos) {
      continue;  // No request came.
    }
    expect_same_replay(lived, resolved);
    if (HasFailure()) {
      FAIL() << fmt::format("session {} of seed {}; its log:\n{}", i, seed, lived.log);
    }
    preemptions += lived.preemptions;
    aborted += lived.aborted;
    cached += lived.cached;
    num_tokens += static_cast<std::int64_t>(lived.tokens.size());
  }
  // What the law is about has happened.
  if (sessions >= kUsualSessions) {
    EXPECT_GT(preemptions, 0);
    EXPECT_GT(aborted, 0);
    EXPECT_GT(cached, 0);
  }
  RecordProperty("preemptions", std::to_string(preemptions));
  std::cout << fmt::format("{} sessions, {} tokens, {} aborted, {} preempted, {} tokens cached\n",
                           sessions,
                           num_tokens,
                           aborted,
                           preemptions,
                           cached);
}

}  // namespace
}  // namespace ridgeline::live
