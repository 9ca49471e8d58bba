#include "evidence/conform/decisions/decision_case.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/prompt.hpp"
#include "routing/filters.hpp"
#include "routing/scorers/candidate.hpp"

namespace ridgeline::evidence::conform {
namespace {

constexpr double kTolerance = 1e-9;

std::vector<std::string> texts(const document::Node& map, std::string_view key) {
  std::vector<std::string> out;
  for (const document::Node& item : items_of(map, key)) {
    out.push_back(item.as_string());
  }
  return out;
}

}  // namespace

const document::Node& part_of(const document::Node& map, std::string_view key) {
  static const document::Node kEmpty = document::Node::map({}, {});
  const document::Node* part = map.find(key);
  return part == nullptr || part->is_null() ? kEmpty : *part;
}

const std::vector<document::Node>& items_of(const document::Node& map, std::string_view key) {
  static const std::vector<document::Node> kNone;
  const document::Node* list = map.find(key);
  return list != nullptr && list->is_list() ? list->items() : kNone;
}

double number_of(const document::Node& map, std::string_view key, double otherwise) {
  const document::Node* node = map.find(key);
  return node != nullptr && node->is_number() ? node->as_real() : otherwise;
}

std::int64_t count_of(const document::Node& map, std::string_view key, std::int64_t otherwise) {
  const document::Node* node = map.find(key);
  return node != nullptr && node->is_number() ? static_cast<std::int64_t>(node->as_real())
                                              : otherwise;
}

std::string word_of(const document::Node& map, std::string_view key) {
  const document::Node* node = map.find(key);
  return node != nullptr && node->is_string() ? node->as_string() : std::string();
}

bool flag_of(const document::Node& map, std::string_view key) {
  const document::Node* node = map.find(key);
  return node != nullptr && node->kind() == document::Node::Kind::kBool && node->as_bool();
}

std::size_t place_of(const std::vector<std::string>& ids, const std::string& id) {
  return static_cast<std::size_t>(std::ranges::find(ids, id) - ids.begin());
}

std::vector<std::string> numbered_ids(std::string_view prefix, std::int64_t count) {
  std::vector<std::string> ids;
  for (std::int64_t i = 0; i < count; ++i) {
    ids.push_back(fmt::format("{}{}", prefix, i));
  }
  return ids;
}

std::vector<std::string> DecisionCase::endpoint_ids() const {
  std::vector<std::string> ids;
  for (const document::Node& endpoint : endpoints()) {
    ids.push_back(word_of(endpoint, "id"));
  }
  return ids;
}

std::vector<routing::Candidate> DecisionCase::candidates() const {
  std::vector<routing::Candidate> candidates;
  for (const document::Node& endpoint : endpoints()) {
    routing::Candidate& one = candidates.emplace_back();
    one.gauges = {.waiting = count_of(endpoint, "waiting"),
                  .running = count_of(endpoint, "running"),
                  .kv_usage = number_of(endpoint, "kv_usage")};
    one.inflight_requests =
        count_of(endpoint, "inflight_requests", count_of(endpoint, "dispatched_requests"));
    one.inflight_tokens = count_of(endpoint, "inflight_tokens");
    one.uncached_tokens = count_of(endpoint, "uncached_request_tokens");
    one.prefix = {
        .matched = count_of(endpoint, "prefix_match_blocks", count_of(endpoint, "cached_blocks")),
        .total = count_of(endpoint, "prefix_total_blocks"),
        .block_tokens = count_of(endpoint, "prefix_block_tokens")};
    one.adapters = {.active = texts(endpoint, "active_adapters"),
                    .waiting = texts(endpoint, "waiting_adapters"),
                    .most = count_of(endpoint, "max_adapters")};
    if (endpoint.find("ttft_headroom_ms") != nullptr) {
      one.headroom = routing::Headroom{.ttft_ms = number_of(endpoint, "ttft_headroom_ms"),
                                       .tpot_ms = number_of(endpoint, "tpot_headroom_ms")};
    }
  }
  return candidates;
}

void DecisionCase::check_number(const std::string& where, double recorded, double ours) {
  if (!(std::abs(recorded - ours) <= kTolerance * std::max(1.0, std::abs(recorded)))) {
    check_text(where, fmt::format("{}", recorded), fmt::format("{}", ours) + " (not equal)");
  }
}

void DecisionCase::check_text(const std::string& where,
                              const std::string& recorded,
                              const std::string& ours) {
  if (recorded != ours && !difference_) {
    difference_ = Difference{.where = where, .recorded = recorded, .ours = ours};
  }
}

void DecisionCase::check_scores(const std::string& where,
                                const document::Node& recorded,
                                const std::vector<std::string>& ids,
                                const std::vector<double>& ours) {
  check_text(where + ", endpoints",
             fmt::format("{}", recorded.members().size()),
             fmt::format("{}", ours.size()));
  for (std::size_t i = 0; i < ids.size() && i < ours.size(); ++i) {
    const document::Node* score = recorded.find(ids[i]);
    check_text(where + ", endpoint", ids[i], score == nullptr ? "none" : ids[i]);
    if (score != nullptr) {
      check_number(fmt::format("{} of {}", where, ids[i]), score->as_real(), ours[i]);
    }
  }
}

void DecisionCase::check_places(const std::string& where,
                                const std::vector<document::Node>& recorded,
                                const std::vector<std::string>& ids,
                                const routing::Places& ours) {
  std::vector<std::string> theirs;
  for (const document::Node& id : recorded) {
    theirs.push_back(id.as_string());
  }
  std::ranges::sort(theirs);
  std::vector<std::string> chosen;
  for (const std::size_t place : ours) {
    chosen.push_back(ids[place]);
  }
  std::ranges::sort(chosen);
  check_text(where, fmt::format("{}", theirs), fmt::format("{}", chosen));
}

RecordedPrompts::Prompt RecordedPrompts::read(const document::Node& step, std::string_view unit) {
  Prompt prompt;
  for (const document::Node& part : items_of(step, "prompt")) {
    const std::string name = word_of(part, "content");
    const std::size_t content = place_of(contents_, name);
    if (content == contents_.size()) {
      contents_.push_back(name);
    }
    const std::int64_t length = count_of(part, unit);
    prompt.length += length;
    if (length > 0) {
      prompt.segments.push_back({.content = content, .length = core::Tokens(length)});
    }
  }
  prompt.chain.assign(
      domain::Prompt(prompt.segments), core::Tokens(prompt.length), core::LoraId(), 0, 0);
  return prompt;
}

}  // namespace ridgeline::evidence::conform
