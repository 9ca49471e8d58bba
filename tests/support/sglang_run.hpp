#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/request.hpp"
#include "engine/sglang/scheduler.hpp"
#include "engine/sglang/settings.hpp"

namespace ridgeline::test {

/// SGLang small enough to do by hand: a pool of 64 tokens, pages of one, no chunks, the normal
/// loop.
inline engine::sglang::Options tiny_sglang(const char* version = "main") {
  engine::sglang::Options options;
  options.rules = engine::sglang::rules_of(version);
  options.max_total_num_tokens = 64;
  options.max_running_requests = 8;
  options.overlap = false;
  return options;
}

inline engine::EngineOptions sglang_engine(const engine::sglang::Options& settings) {
  engine::EngineOptions options;
  options.scheduler = "sglang";
  options.async_scheduling = settings.overlap;
  options.own = std::make_shared<const engine::sglang::Options>(settings);
  return options;
}

/// A request as the tests state it; `content` 0: shared with no other.
struct SglangRequest {
  std::uint32_t id = 0;
  std::int64_t prompt = 1;
  std::int64_t max_tokens = 1;
  std::uint64_t content = 0;
  std::int64_t outputs = 0;  ///< Fewer than max_tokens where it stops by itself; 0: as many.
  std::int32_t priority = 0;
};

/// SGLang's event loop, iteration by iteration; each gives a line.
class SglangRun {
 public:
  explicit SglangRun(const engine::sglang::Options& options)
      : scheduler(sglang_engine(options)), overlap_(options.overlap) {}

  void add(const SglangRequest& stated) {
    domain::Request request;
    request.id = core::RequestId(stated.id);
    request.prompt_tokens = core::Tokens(stated.prompt);
    request.max_tokens = core::Tokens(stated.max_tokens);
    request.output_tokens = core::Tokens(stated.outputs > 0 ? stated.outputs : stated.max_tokens);
    request.priority = stated.priority;
    if (stated.content > 0) {
      request.prompt = {{stated.content, request.prompt_tokens}};
    }
    all.push_back(scheduler.take(request, false));
  }

  /// "extend 0:10 1:14 | run 2 wait 3 | free 40"; "-" without a batch.
  std::string step() {
    static constexpr std::array<const char*, 4> kModes = {"-", "extend", "decode", "mixed"};
    engine::ScheduledStep formed;
    scheduler.iterate(formed);
    std::string line = kModes.at(static_cast<std::size_t>(scheduler.iteration().mode));
    for (const auto& part : formed) {
      line += fmt::format(" {}:{}", part.sequence->record.id.value(), part.num_scheduled_tokens);
    }
    line += fmt::format(" | run{} wait{} | free {}",
                        ids(scheduler.running()),
                        ids(scheduler.waiting()),
                        scheduler.free_tokens());
    in_flight_.push_back(std::move(formed));
    if (in_flight_.size() > (overlap_ ? 1U : 0U)) {
      const engine::ScheduledStep ended = std::move(in_flight_.front());
      in_flight_.pop_front();
      if (!ended.empty()) {
        const std::vector<std::int64_t> one_each(ended.size(), 1);
        static_cast<void>(scheduler.update(ended, one_each));
      }
    }
    return line;
  }

  engine::sglang::Scheduler scheduler;
  std::vector<engine::sglang::RequestPtr> all;

 private:
  template <class List>
  static std::string ids(const List& requests) {
    std::string text;
    for (const auto& request : requests) {
      text += fmt::format(" {}", request->record.id.value());
    }
    return text;
  }

  bool overlap_;
  std::deque<engine::ScheduledStep> in_flight_;
};

}  // namespace ridgeline::test
