#include "lab/conform/replay.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/ids.hpp"
#include "engine/leg.hpp"
#include "engine/options.hpp"
#include "engine/probe.hpp"
#include "lab/conform/recording.hpp"

namespace ridgeline::conform {

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

/// Two queues in vLLM, one text in the recording: which of them comes first is up to the recorder.
Value Replay::waiting() const {
  auto all = probe_.waiting();
  Value value{.text = names(all)};
  const auto front = static_cast<std::size_t>(extras_ == nullptr ? 0 : extras_->num_passed_over());
  if (front > 0 && front < all.size()) {
    std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(front), all.end());
    value.or_else = names(all);
  }
  return value;
}

/// `parked`: requests that were waiting for KV before the step was formed.
void Replay::note_admitted(std::int64_t step,
                           const SchedulerProbe::Step& formed,
                           const std::vector<RequestId>& parked,
                           Record& record) {
  std::vector<RequestId> fresh;
  std::vector<RequestId> resumed;
  std::set<std::string> hits;
  bool any_hit = false;
  for (const auto& admitted : formed.admitted) {
    auto& row = rows_[index_.at(admitted.id)];
    row.first_scheduled = row.first_scheduled.value_or(step);
    if (!admitted.resumed && std::ranges::find(parked, admitted.id) != parked.end()) {
      continue;  // Recorders take it for admitted when it gets the blocks for its KV.
    }
    (admitted.resumed ? resumed : fresh).push_back(admitted.id);
    any_hit = any_hit || admitted.computed_tokens > 0;
    hits.insert(fmt::format("{}:{}", name(admitted.id), admitted.computed_tokens));
  }
  if (!fresh.empty()) {
    record.emplace_back("new", Value{sorted_names(fresh)});
  }
  if (!resumed.empty()) {
    record.emplace_back("resumed", Value{sorted_names(resumed)});
  }
  if (any_hit) {
    record.emplace_back("prefix_hit", Value{fmt::format("{{{}}}", fmt::join(hits, " "))});
  }
}

bool Replay::form_step(std::int64_t step, Record& record) {
  const std::vector<RequestId> parked =
      extras_ == nullptr ? std::vector<RequestId>() : extras_->parked();
  const SchedulerProbe::Step formed = probe_.schedule();
  note_offload(formed, record);
  // What is preempted without a step shows where KV moves alone.
  if (formed.scheduled.empty() && (formed.preempted.empty() || !recording_.options.kv_transfer)) {
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
  record.emplace_back("scheduled", Value{"{" + scheduled + "}"});
  if (!drafts.empty()) {
    record.emplace_back("spec", Value{"{" + drafts + "}"});
  }
  note_admitted(step, formed, parked, record);
  if (!formed.preempted.empty()) {
    record.emplace_back("preempted", Value{sorted_names(formed.preempted)});
  }
  record.emplace_back("running", Value{names(probe_.running())});
  record.emplace_back("waiting", waiting());
  record.emplace_back("free_blocks", Value{std::to_string(probe_.num_free_blocks())});
  if (written_.blocks) {
    record.emplace_back("blocks", Value{block_tables()});
  }
  if (written_.next_drafts) {
    record.emplace_back("next_drafts", Value{std::to_string(formed.next_drafts)});
  }
  if (extras_ != nullptr && !extras_->encoded().empty()) {
    std::string encoded;
    for (const auto& [id, places] : extras_->encoded()) {
      encoded +=
          fmt::format("{}{}:[{}]", encoded.empty() ? "" : " ", name(id), fmt::join(places, " "));
    }
    record.emplace_back("encode", Value{"{" + encoded + "}"});
  }
  if (formed.skips_drafts) {
    record.emplace_back("skip_drafts", Value{"true"});
  }
  if (formed.scheduled.empty()) {
    return false;
  }
  in_flight_.push_back(formed.scheduled);
  return true;
}

/// The transfers that a step hands out.
void Replay::note_offload(const SchedulerProbe::Step& formed, Record& record) {
  if (offload_ == nullptr) {
    return;
  }
  const Offload::Jobs jobs = offload_->note_step(formed, probe_, *extras_);
  const auto text_of = [&](const std::vector<Offload::Part>& parts, bool blocks_first) {
    std::string text;
    for (const auto& part : parts) {
      std::vector<std::uint32_t> ids;
      for (const core::BlockId block : part.blocks) {
        ids.push_back(block.value());
      }
      const std::string blocks = fmt::format("blocks:[{}]", fmt::join(ids, " "));
      const std::string chunks = fmt::format("chunks:[{}]", fmt::join(part.chunks, " "));
      text += fmt::format("{}{}:{{{} {}}}",
                          text.empty() ? "" : " ",
                          name(part.id),
                          blocks_first ? blocks : chunks,
                          blocks_first ? chunks : blocks);
    }
    return "{" + text + "}";
  };
  // A recorder may name what is flushed by the requests or by the numbers of the jobs.
  const auto text_with = [&](const std::string& flushed) {
    std::set<std::string> members;
    if (!jobs.flushed.empty()) {
      members.insert("flush:" + flushed);
    }
    if (!jobs.loads.empty()) {
      members.insert("load:" + text_of(jobs.loads, false));
    }
    if (!jobs.stores.empty()) {
      members.insert("store:" + text_of(jobs.stores, true));
    }
    return members.empty() ? std::string() : fmt::format("{{{}}}", fmt::join(members, " "));
  };
  if (const std::string text = text_with(sorted_names(jobs.flushed)); !text.empty()) {
    record.emplace_back(
        "offload",
        Value{.text = text,
              .or_else = text_with(fmt::format("[{}]", fmt::join(jobs.flushed_jobs, " ")))});
  }
}

/// What the recording's stand-in for a GPU gives: a token, and the drafts that request i has
/// accepted at its d-th draw.
std::int64_t Replay::tokens_of(const SchedulerProbe::Scheduled& item) {
  if (!item.samples) {
    return 0;
  }
  const std::size_t i = index_.at(item.id);
  const auto drafts = recording_.options.num_speculative_tokens;
  const std::int64_t accepted =
      drafts == 0 ? 0 : (7 * static_cast<std::int64_t>(i) + 3 * draws_[i]) % (drafts + 1);
  ++draws_[i];
  return 1 + std::min(item.drafts, accepted);
}

void Replay::end_step(std::int64_t step, Record& record) {
  const auto items = in_flight_.front();
  in_flight_.pop_front();
  if (items.empty()) {
    record.emplace_back("tokens_out", Value{.text = "{}", .is_optional = !written_.idle});
    move_kv(record);
    return;
  }
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> known_before;
  for (const auto& item : items) {
    tokens.push_back(tokens_of(item));
    known_before.push_back(probe_.output_tokens(item.id));
  }
  const auto lost = fail_sync_loads(items, record);
  auto ended = probe_.update(tokens);
  std::string out;
  for (std::size_t k = 0; k < items.size(); ++k) {
    if (items[k].samples) {
      // vLLM cuts what lies behind a request's end; what it throws away as a whole stays as it was.
      const std::int64_t taken = probe_.output_tokens(items[k].id) - known_before[k];
      out += fmt::format(
          "{}{}:{}", out.empty() ? "" : " ", name(items[k].id), taken > 0 ? taken : tokens[k]);
      auto& row = rows_[index_.at(items[k].id)];
      if (taken > 0 || failed_.contains(items[k].id)) {
        row.first_token = row.first_token.value_or(step);
      }
    }
  }
  record.emplace_back("tokens_out", Value{"{" + out + "}"});
  for (const auto id : lost) {
    probe_.abort(id);
    ended.push_back(id);
  }
  const auto given_up = move_kv(record);
  ended.insert(ended.end(), given_up.begin(), given_up.end());
  for (const auto id : ended) {
    rows_[index_.at(id)].finished = step;
    if (const auto& entry = recording_.entries[index_.at(id)]; entry.send_steps > 0) {
      sends_[id] = entry.send_steps;
    }
  }
  if (!ended.empty()) {
    record.emplace_back("finished", Value{sorted_names(ended)});
  }
  const bool has_after = !ended.empty() || std::ranges::any_of(record, [](const auto& member) {
    return member.first == "invalid_blocks" || member.first == "sent" || member.first == "failed";
  });
  if (has_after) {
    record.emplace_back("free_blocks_after", Value{std::to_string(probe_.num_free_blocks())});
  }
}

/// Blocks of loads that were left empty: returns the requests that end with it.
std::vector<RequestId> Replay::lose(const std::vector<core::BlockId>& blocks, Record& record) {
  if (blocks.empty()) {
    return {};
  }
  const auto affected = extras_->lose_blocks(blocks);
  for (const core::BlockId block : blocks) {
    lost_.insert(std::to_string(block.value()));
  }
  std::erase_if(record, [](const auto& member) { return member.first == "invalid_blocks"; });
  record.emplace_back("invalid_blocks", Value{fmt::format("[{}]", fmt::join(lost_, " "))});
  return recording_.fails_lost_loads ? affected : std::vector<RequestId>();
}

/// Adds the first block of a request that did not come; false where several groups have one.
bool Replay::add_lost(RequestId id, std::int64_t first, std::vector<core::BlockId>& lost) const {
  const auto tables = probe_.blocks(id);
  if (tables.size() == 1 && first < std::ssize(tables.front())) {
    lost.push_back(tables.front()[static_cast<std::size_t>(first)]);
  }
  return tables.size() == 1;
}

/// KV that a step read as it was admitted, and that was not there.
std::vector<RequestId> Replay::fail_sync_loads(const std::vector<SchedulerProbe::Scheduled>& items,
                                               Record& record) {
  std::vector<core::BlockId> blocks;
  for (const auto& item : items) {
    const auto& entry = recording_.entries[index_.at(item.id)];
    if (entry.remote_fail && !entry.remote_steps && failed_.insert(item.id).second) {
      add_lost(item.id, *entry.remote_fail, blocks);
    }
  }
  return lose(blocks, record);
}

/// A step has ended, and with it what moved beside it. Returns the requests that end with it.
std::vector<RequestId> Replay::move_kv(Record& record) {
  std::vector<RequestId> ended;
  std::vector<core::BlockId> blocks;
  std::vector<RequestId> failed;  // As a whole: the blocks of several groups have the same ids.
  std::vector<RequestId> arrived;
  for (auto& [id, left] : loads_) {
    if (--left > 0) {
      continue;
    }
    arrived.push_back(id);
    const auto& entry = recording_.entries[index_.at(id)];
    if (entry.remote_fail && !add_lost(id, *entry.remote_fail, blocks)) {
      failed.push_back(id);
    }
  }
  if (offload_ != nullptr) {
    for (const RequestId id : offload_->end_step()) {
      extras_->finish_load(id);
    }
  }
  ended = lose(blocks, record);
  if (!failed.empty() && written_.failed) {
    record.emplace_back("failed", Value{sorted_names(failed)});
  }
  if (recording_.fails_lost_loads) {
    ended.insert(ended.end(), failed.begin(), failed.end());
  }
  for (const RequestId id : ended) {
    probe_.abort(id);
  }
  for (const RequestId id : arrived) {
    loads_.erase(id);
    if (std::ranges::find(failed, id) != failed.end()) {
      extras_->fail_load(id);
    } else {
      extras_->finish_load(id);
    }
  }
  std::vector<RequestId> sent;
  for (auto& [id, left] : sends_) {
    if (--left == 0) {
      sent.push_back(id);
    }
  }
  for (const RequestId id : sent) {
    sends_.erase(id);
    extras_->release_blocks(id);
  }
  if (!sent.empty()) {
    record.emplace_back("sent", Value{.text = sorted_names(sent), .is_optional = !written_.idle});
    record.emplace_back(
        "free_blocks_after",
        Value{.text = std::to_string(probe_.num_free_blocks()), .is_optional = !written_.idle});
  }
  return ended;
}

void Replay::add_arrivals(std::int64_t step) {
  for (const auto& entry : recording_.entries) {
    if (entry.arrive_step != step) {
      continue;
    }
    ++arrived_;
    const engine::Leg leg = {.remote_tokens = entry.remote_tokens,
                             .loads = entry.remote_steps.has_value(),
                             .holds_blocks = entry.send_steps > 0,
                             .unanswered = entry.remote_unknown,
                             .is_session = !entry.inputs.empty()};
    if (extras_ == nullptr) {
      probe_.add(entry.request, entry.remote_tokens);
    } else {
      extras_->add_leg(entry.request, leg);
      extras_->note_images(entry.request.id, entry.images);
    }
  }
}

/// What comes of streaming sessions before this step.
void Replay::add_inputs(std::int64_t step) {
  for (const auto& entry : recording_.entries) {
    for (const auto& input : entry.inputs) {
      if (input.step != step) {
        continue;
      }
      if (input.request) {
        extras_->send(entry.request.id, *input.request);
      } else {
        extras_->close(entry.request.id);
      }
    }
  }
}

/// Requests that wait for something other than room, by what it is.
std::string Replay::parked() const {
  std::string text;
  for (const auto& [reason, ids] : {std::pair("WAITING_FOR_REMOTE_KVS", extras_->parked()),
                                    std::pair("WAITING_FOR_STREAMING_REQ", extras_->asleep())}) {
    if (!ids.empty()) {
      text += fmt::format("{}{}:{}", text.empty() ? "" : " ", reason, sorted_names(ids));
    }
  }
  return text;
}

std::vector<RequestId> Replay::abort_requests(std::int64_t step) {
  std::vector<RequestId> aborted;
  for (const auto& entry : recording_.entries) {
    Row& row = rows_[index_.at(entry.request.id)];
    if (entry.abort_step == step && entry.arrive_step <= step && !row.finished) {
      probe_.abort(entry.request.id);
      row.aborted = step;
      aborted.push_back(entry.request.id);
    }
  }
  return aborted;
}

void Replay::note_loads() {
  if (offload_ != nullptr) {
    return;  // It knows.
  }
  for (const auto id : extras_->loading()) {
    if (loaded_.insert(id).second) {
      loads_.emplace(id, *recording_.entries[index_.at(id)].remote_steps);
    }
  }
}

/// Without a step, KV that is on the way keeps the loop going: with an empty step.
bool Replay::idle(Record& record) {
  const bool loads = offload_ != nullptr && !extras_->loading().empty();
  if (offload_ != nullptr && !loads) {
    offload_->end_step();
  }
  if (loads_.empty() && sends_.empty() && !loads) {
    return false;
  }
  if (written_.idle) {
    record.emplace_back("waiting", waiting());
    record.emplace_back("free_blocks", Value{std::to_string(probe_.num_free_blocks())});
  }
  in_flight_.emplace_back();
  return true;
}

void Replay::act(std::int64_t step, Record& record) {
  std::string done;
  for (const auto& action : recording_.actions) {
    if (action.step != step) {
      continue;
    }
    std::string result;
    if (action.what == "pause_new") {
      extras_->pause_new();
    } else if (action.what == "pause_all") {
      extras_->pause_all();
    } else if (action.what == "resume") {
      extras_->resume();
    } else {
      result = extras_->reset_prefix_cache(action.what == "reset_running") ? "=True" : "=False";
    }
    done += (done.empty() ? "" : " ") + action.what + result;
  }
  if (!done.empty()) {
    record.emplace_back("actions", Value{"[" + done + "]"});
  }
}

bool can_run(const Recording& recording, const SchedulerProbe& probe) {
  return dynamic_cast<const engine::ProbeExtras*>(&probe) != nullptr ||
         (recording.actions.empty() && !recording.offload &&
          std::none_of(recording.entries.begin(), recording.entries.end(), [](const auto& entry) {
            return entry.remote_steps || entry.remote_unknown > 0 || entry.remote_fail ||
                   entry.send_steps > 0 || !entry.images.empty() || !entry.inputs.empty();
          }));
}

/// One loop iteration of the engine: aborts, a step if there is room for one, and the end of the
/// oldest unless there is room for more.
Record Replay::iteration(std::int64_t step) {
  Record record;
  lost_.clear();
  act(step, record);
  const auto aborted = abort_requests(step);
  const auto depth = static_cast<std::size_t>(engine::steps_in_flight(recording_.options));
  bool formed = in_flight_.size() < depth && form_step(step, record);
  if (extras_ != nullptr) {
    note_loads();
    formed = formed || (in_flight_.size() < depth && idle(record));
    if (std::string waits = parked(); written_.parked && !record.empty() && !waits.empty()) {
      record.emplace_back("parked", Value{"{" + waits + "}"});
    }
  }
  if (!in_flight_.empty() && !(formed && in_flight_.size() < depth)) {
    end_step(step, record);
  }
  if (!aborted.empty() && !record.empty()) {
    record.emplace_back("aborted",
                        Value{.text = sorted_names(aborted), .is_optional = !written_.aborted});
    note_aborted_as_finished(step, aborted, record);
  }
  if (!record.empty()) {
    record.insert(record.begin(), {"step", Value{std::to_string(step)}});
  }
  return record;
}

/// A recorder may count an aborted request among those that finish.
void Replay::note_aborted_as_finished(std::int64_t step,
                                      std::vector<RequestId> ids,
                                      Record& record) const {
  const std::size_t num_aborted = ids.size();
  for (const auto& entry : recording_.entries) {
    const auto& row = rows_[index_.at(entry.request.id)];
    if (row.finished == step) {
      ids.push_back(entry.request.id);
    }
  }
  const bool others = ids.size() > num_aborted;
  for (auto& [key, value] : record) {
    if (key == "finished") {
      value.or_else = sorted_names(ids);
    }
  }
  if (!others) {
    record.emplace_back("finished", Value{.text = sorted_names(ids), .is_optional = true});
    record.emplace_back(
        "free_blocks_after",
        Value{.text = std::to_string(probe_.num_free_blocks()), .is_optional = true});
  }
}

std::vector<Record> Replay::run() {
  constexpr std::int64_t kStuck = 100'000;
  std::vector<Record> records;
  for (std::int64_t step = 0; step < kStuck; ++step) {
    add_arrivals(step);
    add_inputs(step);
    Record record = iteration(step);
    if (!record.empty()) {
      records.push_back(std::move(record));
    }
    const bool only_sessions_wait =
        extras_ != nullptr && step >= last_input_ && probe_.waiting() == extras_->asleep();
    if (arrived_ == recording_.entries.size() && in_flight_.empty() && probe_.running().empty() &&
        (probe_.waiting().empty() || only_sessions_wait) && loads_.empty() && sends_.empty()) {
      break;
    }
  }
  return records;
}

}  // namespace ridgeline::conform
