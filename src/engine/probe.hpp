#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"

namespace ridgeline::engine {

/// A scheduler driven step by step from outside, without time, and open to the last block: what
/// the laboratory holds against recorded decisions.
class SchedulerProbe {
 public:
  struct Scheduled {
    core::RequestId id;
    std::int64_t tokens = 0;
    std::int64_t computed = 0;  ///< Tokens computed before.
    std::int64_t drafts = 0;    ///< Drafts among the tokens.
    bool samples = false;       ///< At least one token comes out.
  };
  struct Admitted {
    core::RequestId id;
    std::int64_t computed_tokens = 0;  ///< Cached and remote, at admission.
    bool resumed = false;              ///< After a preemption.
  };
  struct Step {
    std::vector<Scheduled> scheduled;
    std::vector<Admitted> admitted;
    std::vector<core::RequestId> preempted;
    std::int64_t next_drafts = 0;  ///< That each request gets after it.
    bool skips_drafts = false;     ///< None of them could be used: none are made.
  };
  struct Statistics {
    std::int64_t requests = 0;
    std::int64_t queries = 0;
    std::int64_t hits = 0;
    std::int64_t preempted_requests = 0;
    std::int64_t preempted_queries = 0;
    std::int64_t preempted_hits = 0;
  };

  virtual ~SchedulerProbe() = default;

  /// `remote_tokens`: leading prompt tokens whose KV another engine hands over at admission.
  virtual void add(const domain::Request& request, core::Tokens remote_tokens) = 0;
  virtual void abort(core::RequestId id) = 0;
  /// Forms a step and keeps it in flight, unless it is empty.
  virtual Step schedule() = 0;
  /// The oldest step in flight ends with that many tokens per request of it. Returns the requests
  /// that ended, in order.
  virtual std::vector<core::RequestId> update(std::span<const std::int64_t> tokens) = 0;

  [[nodiscard]] virtual std::vector<core::RequestId> running() const = 0;
  [[nodiscard]] virtual std::vector<core::RequestId> waiting() const = 0;
  [[nodiscard]] virtual std::int64_t num_free_blocks() const = 0;
  [[nodiscard]] virtual std::vector<core::BlockId> free_list() const = 0;
  /// A running request's blocks, one table per cache group.
  [[nodiscard]] virtual std::vector<std::vector<core::BlockId>> blocks(
      core::RequestId id) const = 0;
  [[nodiscard]] virtual std::int64_t output_tokens(core::RequestId id) const = 0;
  [[nodiscard]] virtual std::int64_t preemptions(core::RequestId id) const = 0;
  [[nodiscard]] virtual Statistics statistics() const = 0;
};

std::unique_ptr<SchedulerProbe> make_reference_probe(const EngineOptions& options);
std::unique_ptr<SchedulerProbe> make_fast_probe(const EngineOptions& options);

}  // namespace ridgeline::engine
