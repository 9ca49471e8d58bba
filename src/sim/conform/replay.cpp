#include "sim/conform/replay.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/probe.hpp"
#include "sim/conform/recording.hpp"

namespace ridgeline::sim::conform {

std::string Replay::names(const std::vector<RequestId>& ids) const {
  std::string text;
  for (const auto id : ids) {
    text += (text.empty() ? "" : " ") + name(id);
  }
  return "[" + text + "]";
}

std::string Replay::block_tables() const {
  std::string text;
  for (const auto id : probe_.running()) {
    const auto tables = probe_.blocks(id);
    std::vector<std::string> groups;
    for (const auto& table : tables) {
      std::string blocks;
      for (const auto block : table) {
        blocks += (blocks.empty() ? "" : " ") + std::to_string(block.value());
      }
      groups.push_back("[" + blocks + "]");
    }
    std::string joined;
    for (const auto& group : groups) {
      joined += (joined.empty() ? "" : " ") + group;
    }
    text += (text.empty() ? "" : " ") + name(id) + ":" +
            (groups.size() > 1 ? "[" + joined + "]" : joined);
  }
  return "{" + text + "}";
}

bool Replay::form_step(std::int64_t step, Record& record) {
  const SchedulerProbe::Step formed = probe_.schedule();
  if (formed.scheduled.empty()) {
    return false;
  }
  std::string scheduled;
  std::string drafts;
  for (const auto& item : formed.scheduled) {
    scheduled += fmt::format("{}{}:{}", scheduled.empty() ? "" : " ", name(item.id), item.tokens);
    if (item.drafts > 0) {
      drafts += fmt::format("{}{}:{}", drafts.empty() ? "" : " ", name(item.id), item.drafts);
    }
  }
  record.emplace_back("scheduled", "{" + scheduled + "}");
  if (!drafts.empty()) {
    record.emplace_back("spec", "{" + drafts + "}");
  }
  std::vector<RequestId> fresh;
  std::vector<RequestId> resumed;
  std::set<std::string> hits;
  bool any_hit = false;
  for (const auto& admitted : formed.admitted) {
    (admitted.resumed ? resumed : fresh).push_back(admitted.id);
    any_hit = any_hit || admitted.computed_tokens > 0;
    hits.insert(fmt::format("{}:{}", name(admitted.id), admitted.computed_tokens));
    auto& row = rows_[index_.at(admitted.id)];
    row.first_scheduled = row.first_scheduled.value_or(step);
  }
  if (!fresh.empty()) {
    record.emplace_back("new", sorted_names(fresh));
  }
  if (!resumed.empty()) {
    record.emplace_back("resumed", sorted_names(resumed));
  }
  if (any_hit) {
    record.emplace_back("prefix_hit", fmt::format("{{{}}}", fmt::join(hits, " ")));
  }
  if (!formed.preempted.empty()) {
    record.emplace_back("preempted", sorted_names(formed.preempted));
  }
  record.emplace_back("running", names(probe_.running()));
  record.emplace_back("waiting", names(probe_.waiting()));
  record.emplace_back("free_blocks", std::to_string(probe_.num_free_blocks()));
  if (with_blocks_) {
    record.emplace_back("blocks", block_tables());
  }
  in_flight_.push_back(formed.scheduled);
  return true;
}

void Replay::end_step(std::int64_t step, Record& record) {
  const auto items = in_flight_.front();
  in_flight_.pop_front();
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> known_before;
  for (const auto& item : items) {
    const std::size_t i = index_.at(item.id);
    std::int64_t count = 0;
    if (item.samples) {
      // The recording's stand-in for a draft model: how many drafts request i has accepted at its
      // d-th draw.
      const auto drafts = recording_.options.num_speculative_tokens;
      const std::int64_t accepted =
          drafts == 0 ? 0 : (7 * static_cast<std::int64_t>(i) + 3 * draws_[i]) % (drafts + 1);
      count = 1 + std::min(item.drafts, accepted);
      ++draws_[i];
      rows_[i].first_token = rows_[i].first_token.value_or(step);
    }
    tokens.push_back(count);
    known_before.push_back(probe_.output_tokens(item.id));
  }
  const auto ended = probe_.update(tokens);
  std::string out;
  for (std::size_t k = 0; k < items.size(); ++k) {
    if (items[k].samples) {
      // What lies behind a request's end is cut off, unless it had ended before: then all is thrown
      // away.
      const bool was_alive = !rows_[index_.at(items[k].id)].finished.has_value();
      const std::int64_t shown =
          was_alive ? probe_.output_tokens(items[k].id) - known_before[k] : tokens[k];
      out += fmt::format("{}{}:{}", out.empty() ? "" : " ", name(items[k].id), shown);
    }
  }
  record.emplace_back("tokens_out", "{" + out + "}");
  for (const auto id : ended) {
    rows_[index_.at(id)].finished = step;
    --alive_;
  }
  if (!ended.empty()) {
    record.emplace_back("finished", sorted_names(ended));
    record.emplace_back("free_blocks_after", std::to_string(probe_.num_free_blocks()));
  }
}

std::vector<Record> Replay::run() {
  const std::int64_t depth = recording_.options.pipeline_depth > 0
                                 ? recording_.options.pipeline_depth
                             : recording_.options.async_scheduling ? 2
                                                                   : 1;
  constexpr std::int64_t kStuck = 1'000'000;
  std::vector<Record> records;
  std::size_t arrived = 0;
  for (std::int64_t step = 0; step < kStuck; ++step) {
    for (const auto& entry : recording_.entries) {
      if (entry.arrive_step == step) {
        probe_.add(entry.request, entry.remote_tokens);
        ++arrived;
        ++alive_;
      }
    }
    Record record;
    for (const auto& entry : recording_.entries) {
      if (entry.abort_step == step) {
        probe_.abort(entry.request.id);
      }
    }
    const bool room = static_cast<std::int64_t>(in_flight_.size()) < depth;
    const bool formed = room && form_step(step, record);
    const bool more_room = static_cast<std::int64_t>(in_flight_.size()) < depth;
    if (!(formed && more_room) && !in_flight_.empty()) {
      end_step(step, record);
    }
    if (!record.empty()) {
      record.insert(record.begin(), {"step", std::to_string(step)});
      records.push_back(std::move(record));
    }
    if (arrived == recording_.entries.size() && in_flight_.empty() && probe_.running().empty() &&
        probe_.waiting().empty()) {
      break;
    }
  }
  return records;
}

}  // namespace ridgeline::sim::conform
