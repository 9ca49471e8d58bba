#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/probe.hpp"
#include "engine/profiles.hpp"

namespace ridgeline::test {

/// An engine small enough to do by hand: blocks of 4 tokens, 64 of them, 16 tokens a step.
inline engine::EngineOptions tiny_options(const std::string& version) {
  engine::EngineOptions options;
  options.block_size = core::Tokens(4);
  options.num_gpu_blocks = core::Blocks(1 + 64);
  options.max_num_seqs = 8;
  options.max_num_batched_tokens = core::Tokens(16);
  options.max_model_len = core::Tokens(64);
  options.enable_prefix_caching = false;
  options.async_scheduling = false;
  options.profile = *engine::find_profile(version);
  return options;
}

/// A request whose prompt no other shares, or where `content` is given the beginning of a text that
/// others may have in common with it.
inline domain::Request tiny_request(std::uint32_t id,
                                    std::int64_t prompt,
                                    std::int64_t max_tokens,
                                    std::uint64_t content = 0) {
  domain::Request request;
  request.id = core::RequestId(id);
  request.arrival = core::SimTime::at(core::Duration::microseconds(id));
  request.prompt_tokens = core::Tokens(prompt);
  request.max_tokens = core::Tokens(max_tokens);
  request.output_tokens = request.max_tokens;
  if (content > 0) {
    request.prompt = {{content, request.prompt_tokens}};
  }
  return request;
}

/// A probe, driven step by step, that writes down what it does.
class ProbeRun {
 public:
  explicit ProbeRun(std::unique_ptr<engine::SchedulerProbe> probe) : probe_(std::move(probe)) {}

  engine::SchedulerProbe& operator*() { return *probe_; }
  engine::SchedulerProbe* operator->() { return probe_.get(); }

  void add(const domain::Request& request) { probe_->add(request, core::Tokens(0)); }

  /// Forms a step: "0:8 1:4(3)" for 8 tokens of request 0, and 4 of request 1 of which 3 drafts.
  std::string schedule() {
    last_ = probe_->schedule();
    if (!last_.scheduled.empty()) {
      in_flight_.push_back(last_.scheduled);
    }
    std::string text;
    for (const auto& item : last_.scheduled) {
      text += fmt::format("{}{}:{}", text.empty() ? "" : " ", item.id.value(), item.tokens);
      text += item.drafts > 0 ? fmt::format("({})", item.drafts) : "";
    }
    return text;
  }

  /// Ends the oldest step; every request of it has `accepted` drafts accepted, as far as it has
  /// them. Returns the requests that ended.
  std::vector<core::RequestId> end(std::int64_t accepted = 0) {
    std::vector<std::int64_t> tokens;
    for (const auto& item : in_flight_.front()) {
      tokens.push_back(item.samples ? 1 + std::min(accepted, item.drafts) : 0);
    }
    in_flight_.pop_front();
    return probe_->update(tokens);
  }

  /// A step that ends before the next is formed.
  std::string step(std::int64_t accepted = 0) {
    std::string text = schedule();
    if (!in_flight_.empty()) {
      end(accepted);
    }
    return text;
  }

  /// Serves requests one after the other, each from its beginning to its end. Returns the tokens
  /// that each found cached.
  std::vector<std::int64_t> hits(const std::vector<domain::Request>& requests) {
    std::vector<std::int64_t> found;
    for (const domain::Request& request : requests) {
      add(request);
      schedule();
      found.push_back(last_.admitted.front().computed_tokens);
      end();
      while (!step().empty()) {
      }
    }
    return found;
  }

  /// What the last schedule() did.
  [[nodiscard]] const engine::SchedulerProbe::Step& last() const { return last_; }

 private:
  std::unique_ptr<engine::SchedulerProbe> probe_;
  std::deque<std::vector<engine::SchedulerProbe::Scheduled>> in_flight_;
  engine::SchedulerProbe::Step last_;
};

}  // namespace ridgeline::test
