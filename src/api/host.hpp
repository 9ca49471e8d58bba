#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "api/policies.hpp"
#include "api/tables.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "metrics/listeners.hpp"
#include "ridgeline.h"
#include "ridgeline/ridgeline.hpp"
#include "sim/simulation.hpp"
#include "verbs/clock.hpp"
#include "verbs/host.hpp"
#include "verbs/request.hpp"
#include "verbs/run.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::api {

/// A process that calls the library: its hooks hear of the work and may stop it, its policies
/// decide in runs, and what a call keeps of a run is kept here.
class CallHost final : public verbs::Host {
 public:
  /// What is handed over outlives it; `policies` may be null.
  explicit CallHost(const Hooks& hooks, const rl_hooks* policies = nullptr);
  ~CallHost() override;

  using Host::progress;
  void progress(const sim::Progress& at) override;
  void progress(const verbs::Stage& at) override;

  void take(verbs::Request& request) override;
  [[nodiscard]] core::Result<void> begin(const verbs::Run& run) override;
  void end(core::Result<verbs::RunResult>& result) override;

  [[nodiscard]] std::unique_ptr<Watch> watch(Work work) override;
  [[nodiscard]] const std::atomic<bool>& stop() const override { return stop_; }

  /// The rows that were kept; null where none were.
  [[nodiscard]] const std::shared_ptr<KeptTables>& tables() const { return tables_; }

 private:
  class RequestEnds;

  void ask();
  void tell(std::int64_t done, std::int64_t total);

  const Hooks& hooks_;
  std::optional<HostPolicies> policies_;
  document::Node said_;  ///< What the host says of its policies.
  std::shared_ptr<KeptTables> tables_;
  std::unique_ptr<RequestEnds> ends_;
  metrics::Listeners listeners_;
  verbs::AtMostEvery reports_;
  std::mutex mutex_;  ///< Progress comes from any thread of a search.
  std::atomic<bool> stop_ = false;
};

}  // namespace ridgeline::api
