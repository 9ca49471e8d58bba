#include "workload/traces/formats/perf_stream.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/distributions.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/generate/client.hpp"
#include "workload/generate/law.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/limits.hpp"
#include "workload/traces/reading/conversation.hpp"

namespace ridgeline::workload {
namespace {

constexpr std::uint64_t kGroupTexts = 0x7065726667726F75;
constexpr std::uint64_t kPromptTexts = 0x7065726670726F6D;

/// `count` times whose gaps are exponential and add up to `seconds` (ConstantLoadTimer).
void add_times(core::RngStream& rng,
               double from,
               double seconds,
               std::int64_t count,
               std::vector<double>& times) {
  std::vector<double> gaps;
  for (std::int64_t i = 0; i < count; ++i) {
    gaps.push_back(core::exponential(rng, 1.0));
  }
  const double total = std::accumulate(gaps.begin(), gaps.end(), 0.0);
  double sum = 0.0;
  for (const double gap : gaps) {
    sum += gap;
    times.push_back(from + seconds * sum / total);
  }
}

/// A Poisson number: gaps of an exponential law that fit into `mean` of them.
std::int64_t poisson_number(core::RngStream& rng, double mean) {
  std::int64_t count = 0;
  for (double sum = core::exponential(rng, 1.0); sum < mean; sum += core::exponential(rng, 1.0)) {
    ++count;
  }
  return count;
}

/// When the requests of a stage by rate are due: int(rate * duration) of them.
std::vector<double> times_of(const PerfStage& stage, PerfPlan::Times how, core::RngStream rng) {
  auto count = static_cast<std::int64_t>(
      std::min(*stage.rate * stage.duration, static_cast<double>(kMaxRequests)));
  if (stage.requests > 0) {
    count = std::min(count, stage.requests);
  }
  std::vector<double> times;
  if (how == PerfPlan::Times::kScaled) {
    add_times(rng, 0.0, stage.duration, count, times);
    return times;
  }
  if (how != PerfPlan::Times::kBySecond) {
    const double mean = 1.0 / *stage.rate;
    const bool is_even = how == PerfPlan::Times::kEven;
    const std::int64_t most = is_even || stage.requests > 0 ? count : kMaxRequests;
    for (double time = 0.0; time < stage.duration && static_cast<std::int64_t>(times.size()) < most;
         time += is_even ? mean : core::exponential(rng, mean)) {
      times.push_back(time);
    }
    return times;
  }
  for (std::int64_t second = 0; static_cast<std::int64_t>(times.size()) < count; ++second) {
    const std::int64_t left = count - static_cast<std::int64_t>(times.size());
    const std::int64_t number = poisson_number(rng, *stage.rate);
    std::vector<double> within;
    add_times(rng, static_cast<double>(second), 1.0, number, within);
    times.insert(times.end(), within.begin(), within.begin() + std::min(left, number));
  }
  return times;
}

core::Duration seconds(double value) {
  return core::Duration::from_seconds(value).value_or(core::Duration());
}

/// The prompts of data.shared_prefix, in the order in which they are sent.
class PromptList {
 public:
  PromptList(const PerfPrompts& rule, std::uint64_t seed) {
    const LawSampler system(rule.system);
    const LawSampler question(rule.question);
    const LawSampler output(rule.output);
    core::RngStream rng(seed, 0, "inference-perf prompts");
    for (std::int64_t group = 0; group < rule.groups; ++group) {
      const core::Tokens prefix = system.draw_tokens(rng);
      for (std::int64_t i = 0; i < rule.per_group; ++i) {
        prompts_.push_back({.group = static_cast<std::uint64_t>(group),
                            .number = prompts_.size(),
                            .prefix = prefix,
                            .question = question.draw_tokens(rng),
                            .output = output.draw_tokens(rng)});
      }
    }
    for (std::size_t i = prompts_.size(); i > 1; --i) {
      const auto other = core::uniform_integer(rng, 0, static_cast<std::int64_t>(i) - 1);
      std::swap(prompts_[i - 1], prompts_[static_cast<std::size_t>(other)]);
    }
  }

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(prompts_.size()); }

  /// The talk with a prompt, before its question.
  [[nodiscard]] Conversation begin(std::int64_t at) const {
    const Prompt& prompt = prompts_[static_cast<std::size_t>(at)];
    Conversation talk(content_of(kPromptTexts, prompt.number));
    talk.add_shared(content_of(kGroupTexts, prompt.group), prompt.prefix);
    return talk;
  }
  /// The request that adds the prompt's question to a talk.
  [[nodiscard]] Item ask(std::int64_t at, Conversation& talk) const {
    const Prompt& prompt = prompts_[static_cast<std::size_t>(at)];
    talk.add_own(prompt.question);
    Item item;
    item.input_tokens = std::min(talk.length(), core::Tokens(kMaxTokensPerRequest));
    item.output_tokens = std::min(prompt.output, core::Tokens(kMaxTokensPerRequest));
    talk.cut(item.input_tokens);
    item.prompt = talk.prompt();
    return item;
  }

 private:
  struct Prompt {
    std::uint64_t group = 0;
    std::uint64_t number = 0;
    core::Tokens prefix;
    core::Tokens question;
    core::Tokens output;
  };
  std::vector<Prompt> prompts_;
};

/// The requests of one stage of a list of prompts.
class PromptStage {
 public:
  PromptStage(const PromptList& list, bool is_chat, std::int64_t requests)
      : list_(list), is_chat_(is_chat), requests_(requests) {}

  bool next(Item& item, const std::vector<double>& times) {
    if (round_ == 0 || place_ >= requests_) {
      place_ = first_;
      round_ = 0;
      if (first_ >= (is_chat_ ? std::min(requests_, list_.size()) : requests_)) {
        return false;
      }
      talk_ = list_.begin(first_++ % list_.size());
    }
    const std::int64_t prompt = place_ % list_.size();
    item = list_.ask(prompt, talk_);
    item.arrival =
        times.empty() ? core::Duration() : seconds(times[static_cast<std::size_t>(place_)]);
    item.starts_group = round_ == 0;
    if (is_chat_) {
      item.session = static_cast<std::int32_t>(prompt);
      item.turn = static_cast<std::int32_t>(round_);
      if (round_ > 0) {
        item.parents = {static_cast<std::uint32_t>(round_ - 1)};
      }
      talk_.add_answer(static_cast<std::uint32_t>(round_), item.output_tokens);
      ++round_;
      place_ += list_.size();
    }
    return true;
  }

 private:
  const PromptList& list_;
  bool is_chat_;
  std::int64_t requests_;
  std::int64_t first_ = 0;  ///< The next group's first request.
  std::int64_t place_ = 0;  ///< The next request of a chat.
  std::int64_t round_ = 0;  ///< 0: a group begins.
  Conversation talk_{0};
};

class PerfStream final : public ItemStream {
 public:
  PerfStream(const PerfPlan& plan, std::uint64_t seed) : plan_(plan), seed_(seed) {
    for (std::size_t i = 0; i < (plan_.by_clock ? 1 : plan_.stages.size()); ++i) {
      rules_.push_back({.max_concurrency = plan_.stages[i].concurrency,
                        .after_previous = i > 0,
                        .pause = seconds(i > 0 ? plan_.interval : 0.0)});
      const PerfStage& stage = plan_.stages[i];
      if (!stage.rate && stage.duration > 0.0) {
        rules_.back().end = seconds(stage.duration);
      }
      is_endless_ = is_endless_ || is_open(stage);
    }
    if (plan_.prompts) {
      list_.emplace(*plan_.prompts, seed);
    }
    const bool is_chat = plan_.prompts && plan_.prompts->is_chat;
    is_flat_ = !plan_.spec.session && !is_chat;
    waits_ = rules_.size() > 1 || rules_[0].max_concurrency > 0 || !is_flat_;
  }

  bool next(Item& item) override {
    for (; stage_ < rules_.size(); ++stage_, is_open_ = false) {
      if (!is_open_) {
        open();
      }
      if (items_ < most_ && next_of_stage(item)) {
        item.stage = static_cast<std::int32_t>(stage_);
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] std::optional<double> share_read() const override {
    const double part =
        is_open_ && most_ > 0 ? static_cast<double>(items_) / static_cast<double>(most_) : 0.0;
    return (static_cast<double>(stage_) + part) / static_cast<double>(rules_.size());
  }
  [[nodiscard]] const std::vector<Stage>& stages() const override { return rules_; }
  [[nodiscard]] bool waits_for_answers() const override { return waits_; }
  [[nodiscard]] bool is_flat() const override { return is_flat_; }
  [[nodiscard]] bool is_endless() const override { return is_endless_; }

 private:
  /// Whether only the time ends it.
  static bool is_open(const PerfStage& stage) {
    return !stage.rate && stage.requests == 0 && stage.sessions == 0;
  }

  void open() {
    const PerfStage& stage = plan_.stages[stage_];
    is_open_ = true;
    items_ = 0;
    times_.clear();
    if (plan_.by_clock) {
      double start = 0.0;
      for (std::size_t i = 0; i < plan_.stages.size(); ++i) {
        for (const double time :
             times_of(plan_.stages[i], plan_.times, {seed_, i, "inference-perf times"})) {
          times_.push_back(start + time);
        }
        start += plan_.stages[i].duration;
      }
    } else if (stage.rate) {
      times_ = times_of(stage, plan_.times, {seed_, stage_, "inference-perf times"});
    }
    const auto due = static_cast<std::int64_t>(times_.size());
    if (list_) {
      most_ = stage.rate ? due : stage.requests;
      prompts_.emplace(*list_, plan_.prompts->is_chat, most_);
      return;
    }
    ClientSpec spec = plan_.spec;
    spec.at_once = true;
    if (!is_open(stage)) {
      spec.num_groups = stage.rate ? due : std::max(stage.sessions, stage.requests);
    }
    most_ = stage.rate && plan_.counts_requests           ? due
            : plan_.counts_requests && stage.requests > 0 ? stage.requests
                                                          : kMaxRequests;
    client_ = make_client(spec, seed_, plan_.is_drawn_alike ? 0 : stage_);
  }

  bool next_of_stage(Item& item) {
    if (list_) {
      const bool has_one = prompts_->next(item, times_);
      items_ += has_one ? 1 : 0;
      return has_one;
    }
    if (!client_->next(item)) {
      return false;
    }
    if (!times_.empty() && item.starts_group) {
      item.arrival = seconds(times_[static_cast<std::size_t>(items_)]);
    }
    ++items_;
    sessions_ += item.starts_group ? 1 : 0;
    item.session = item.session >= 0 ? sessions_ - 1 : -1;
    return true;
  }

  PerfPlan plan_;
  std::uint64_t seed_;
  std::optional<PromptList> list_;
  std::vector<Stage> rules_;
  bool waits_ = false;
  bool is_flat_ = true;
  bool is_endless_ = false;
  std::size_t stage_ = 0;
  bool is_open_ = false;
  std::unique_ptr<ItemStream> client_;
  std::optional<PromptStage> prompts_;
  std::vector<double> times_;
  std::int64_t items_ = 0;
  std::int64_t most_ = 0;
  std::int32_t sessions_ = 0;
};

}  // namespace

std::unique_ptr<ItemStream> make_perf_stream(const PerfPlan& plan, std::uint64_t seed) {
  return std::make_unique<PerfStream>(plan, seed);
}

}  // namespace ridgeline::workload
