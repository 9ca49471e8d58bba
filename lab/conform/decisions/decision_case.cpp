#include "lab/conform/decisions/decision_case.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/prompt.hpp"
#include "lab/conform/conform.hpp"
#include "lab/conform/decisions/part.hpp"
#include "routing/filters.hpp"
#include "routing/scorers/candidate.hpp"

namespace ridgeline::conform {
namespace {

constexpr double kTolerance = 1e-9;

constexpr std::string_view kState =
    "stands beside every case of a system, whether its policy looks at it or not";
constexpr std::string_view kOtherTarget = "belongs to another target or stage of the planner";
/// What may stand unread in a case. All else is compared, or the case is refused.
constexpr auto kUnread = std::to_array<Reading::Unread>({
    {"", "kind", "says what the keys of `expected` say"},
    {"", "note", "for people"},
    {"", "endpoints[].id", "a name"},
    {"", "request.workers[].id", "a name"},
    {"", "request.replicas[].id", "a name"},
    {"", "endpoints[].waiting", kState},
    {"", "endpoints[].running", kState},
    {"", "endpoints[].kv_usage", kState},
    {"", "endpoints[].inflight_requests", kState},
    {"kthena", "endpoints[].ttft_s", kState},
    {"kthena", "endpoints[].tpot_s", kState},
    {"dynamo", "endpoints[].effective_cached_tokens", "follows from the overlaps"},
    {"dynamo", "params.worker_type", "a label: the cost asks for track_prefill_tokens"},
    {"dynamo", "params.context_length", kOtherTarget},
    {"dynamo", "params.max_kv_tokens", kOtherTarget},
    {"dynamo", "params.prefill_scale_up_queue_tokens", kOtherTarget},
    {"dynamo", "params.prefill_scale_down_queue_tokens", kOtherTarget},
    {"dynamo", "params.decode_scale_up_kv_rate", kOtherTarget},
    {"dynamo", "params.decode_scale_down_kv_rate", kOtherTarget},
    {"inference-sim", "request.slo_class", "its priority stands beside it"},
    {"inference-sim", "request.prompt_tokens", kState},
    {"inference-sim", "request.adapter", kState},
    {"inference-sim", "params.block_size", kState},
});

}  // namespace

std::size_t place_of(const std::vector<std::string>& ids, const std::string& id) {
  return static_cast<std::size_t>(std::ranges::find(ids, id) - ids.begin());
}

std::vector<std::string> numbered_ids(std::string_view prefix, std::size_t count) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < count; ++i) {
    ids.push_back(fmt::format("{}{}", prefix, i));
  }
  return ids;
}

std::size_t known_place(const std::vector<std::string>& ids, const Part& id) {
  const std::size_t place = place_of(ids, id.word());
  if (place == ids.size()) {
    id.note_wrong(fmt::format("one of {}", fmt::join(ids, ", ")));
    return 0;
  }
  return place;
}

std::vector<std::string> words_of(const Part& list) {
  std::vector<std::string> words;
  for (const Part& item : list.items()) {
    words.push_back(item.word());
  }
  return words;
}

std::vector<Part> DecisionCase::steps_with(const std::vector<std::string>& expectations) const {
  std::vector<Part> steps = all_.at("steps").items();
  // "steps[].routed_to, in order; what else is to be said"
  const Part see = expected().at("see");
  const std::string text = see.word();
  std::set<std::string> named;
  for (std::size_t at = 0, end = text.find_first_of(";:"); at < std::min(end, text.size());) {
    const std::size_t next = std::min(text.find_first_of(" ,.[];:", at), text.size());
    named.insert(text.substr(at, next - at));
    at = next + 1;
  }
  bool is_known = std::ranges::all_of(expectations,
                                      [&](const std::string& key) { return named.contains(key); });
  for (const Part& step : steps) {
    for (const auto& [key, value] : step.members()) {
      is_known = is_known && (!named.contains(key) ||
                              std::ranges::find(expectations, key) != expectations.end());
    }
  }
  if (!is_known) {
    see.note_wrong(
        fmt::format("steps[].{}, which this check compares", fmt::join(expectations, ", ")));
  }
  return steps;
}

std::vector<std::string> DecisionCase::endpoint_ids() const {
  std::vector<std::string> ids;
  for (const Part& endpoint : endpoints()) {
    ids.push_back(endpoint.at("id").word());
  }
  return ids;
}

std::vector<routing::Candidate> DecisionCase::candidates() const {
  std::vector<routing::Candidate> candidates;
  for (const Part& endpoint : endpoints()) {
    routing::Candidate& one = candidates.emplace_back();
    one.gauges = {.waiting = endpoint.count("waiting"),
                  .running = endpoint.count("running"),
                  .kv_usage = endpoint.number("kv_usage")};
    one.inflight_requests =
        endpoint.count("inflight_requests", endpoint.count("dispatched_requests"));
    one.inflight_tokens = endpoint.count("inflight_tokens");
    one.uncached_tokens = endpoint.count("uncached_request_tokens");
    one.prefix = {.matched = endpoint.count("prefix_match_blocks", endpoint.count("cached_blocks")),
                  .total = endpoint.count("prefix_total_blocks"),
                  .block_tokens = endpoint.count("prefix_block_tokens")};
    one.adapters = {.active = words_of(endpoint["active_adapters"]),
                    .waiting = words_of(endpoint["waiting_adapters"]),
                    .most = endpoint.count("max_adapters")};
    if (endpoint["ttft_headroom_ms"].is_there()) {
      one.headroom = routing::Headroom{.ttft_ms = endpoint.number("ttft_headroom_ms"),
                                       .tpot_ms = endpoint.at("tpot_headroom_ms").number()};
    }
  }
  return candidates;
}

void DecisionCase::check_number(const std::string& where, const Part& recorded, double ours) {
  const double theirs = recorded.number();
  const bool is_equal = std::abs(theirs - ours) <= kTolerance * std::max(1.0, std::abs(theirs));
  check_text(where,
             is_equal ? "" : fmt::format("{}", theirs),
             is_equal ? "" : fmt::format("{} (not equal)", ours));
}

void DecisionCase::check_count(const std::string& where,
                               const Part& recorded,
                               const std::optional<std::int64_t>& ours) {
  check_text(where,
             recorded.is_there() ? fmt::format("{}", recorded.count()) : "none",
             ours ? fmt::format("{}", *ours) : "none");
}

void DecisionCase::check_flag(const std::string& where, const Part& recorded, bool ours) {
  check_text(where, fmt::format("{}", recorded.flag()), fmt::format("{}", ours));
}

void DecisionCase::check_word(const std::string& where,
                              const Part& recorded,
                              const std::string& ours) {
  check_text(where, recorded.word(), ours);
}

void DecisionCase::check_text(const std::string& where,
                              const std::string& recorded,
                              const std::string& ours) {
  has_compared_ = true;
  if (recorded != ours && !difference_) {
    difference_ = Difference{.where = where, .recorded = recorded, .ours = ours};
  }
}

void DecisionCase::check_scores(const std::string& where,
                                const Part& recorded,
                                const std::vector<std::string>& ids,
                                const std::vector<double>& ours) {
  std::vector<std::string> theirs;
  for (const auto& [id, score] : recorded.members()) {
    theirs.push_back(id);
    const std::size_t place = place_of(ids, id);
    if (place < ours.size()) {
      check_number(fmt::format("{} of {}", where, id), score, ours[place]);
    } else {
      static_cast<void>(score.text());  // The lists of ids differ below.
    }
  }
  std::ranges::sort(theirs);
  std::vector<std::string> mine = ids;
  std::ranges::sort(mine);
  check_text(where + ", endpoints", fmt::format("{}", theirs), fmt::format("{}", mine));
}

void DecisionCase::check_numbers(const std::string& where,
                                 const Part& recorded,
                                 const std::vector<double>& ours) {
  const std::vector<Part> theirs = recorded.items();
  for (std::size_t i = 0; i < std::min(theirs.size(), ours.size()); ++i) {
    check_number(fmt::format("{} {}", where, i), theirs[i], ours[i]);
  }
  check_text(where + "s",
             fmt::format("{} numbers", theirs.size()),
             fmt::format("{} numbers", ours.size()));
}

void DecisionCase::check_places(const std::string& where,
                                const Part& recorded,
                                const std::vector<std::string>& ids,
                                const routing::Places& ours) {
  std::vector<std::string> theirs = words_of(recorded);
  std::ranges::sort(theirs);
  std::vector<std::string> chosen;
  for (const std::size_t place : ours) {
    chosen.push_back(place < ids.size() ? ids[place] : "none");
  }
  std::ranges::sort(chosen);
  check_text(where, fmt::format("{}", theirs), fmt::format("{}", chosen));
}

std::size_t DecisionCase::check_among(std::size_t i,
                                      const Part& recorded,
                                      const std::vector<std::string>& ids,
                                      const routing::Places& ours) {
  const std::size_t place = known_place(ids, recorded);
  if (std::ranges::find(ours, place) == ours.end()) {
    check_places(fmt::format("step {}: routed to", i), Part(), ids, ours);
  }
  return place;
}

core::Errors DecisionCase::problems() const {
  core::Errors errors = reading_.problems(node_, system(), kUnread);
  if (errors.empty() && !has_compared_) {
    errors.push_back({.field = "steps",
                      .message = "found no decision to compare, expected one at least",
                      .where = node_.where()});
  }
  constexpr std::size_t kMostShown = 3;
  const std::size_t all = errors.size();
  errors.resize(std::min(all, kMostShown));
  for (core::Error& error : errors) {
    error.message += fmt::format(" (case {}, policy {})", id(), policy());
  }
  if (all > kMostShown) {
    errors.back().message += fmt::format("; {} more like it", all - kMostShown);
  }
  return errors;
}

RecordedPrompts::Prompt RecordedPrompts::read(const Part& step, std::string_view unit) {
  Prompt prompt;
  for (const Part& part : step.at("prompt").items()) {
    const std::string name = part.at("content").word();
    const std::size_t content = place_of(contents_, name);
    if (content == contents_.size()) {
      contents_.push_back(name);
    }
    const std::int64_t length = part.at(unit).count();
    prompt.length += length;
    if (length > 0) {
      prompt.segments.push_back({.content = content, .length = core::Tokens(length)});
    }
  }
  prompt.chain.assign(
      domain::Prompt(prompt.segments), core::Tokens(prompt.length), core::LoraId(), 0, 0);
  return prompt;
}

}  // namespace ridgeline::conform
