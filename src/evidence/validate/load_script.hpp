#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/measured_run.hpp"
#include "evidence/validate/staged_source.hpp"

namespace ridgeline::evidence::validate {

/// The requests of a measured run: each stage as its load generator sends it, one after the other
/// on the same server. Open stages with random or even arrivals follow each other on the clock;
/// before and after every other kind the server drains.
class LoadScript final : public StagedSource {
 public:
  /// `facts` is any record of the run. The seed draws arrivals and lengths: which of the equally
  /// likely histories this is. Of several data-parallel ranks it has the requests of one. Sets
  /// `all_sent`, if given, as it sends the last request.
  LoadScript(const MeasuredRun& run,
             const Evidence& facts,
             std::uint64_t seed,
             std::int64_t ranks = 1,
             std::atomic<bool>* all_sent = nullptr);

  std::optional<core::SimTime> next_arrival() override;
  domain::Request pop() override;
  [[nodiscard]] bool is_closed_loop() const override { return waits_; }
  void on_completion(core::RequestId id, core::SimTime time) override;
  [[nodiscard]] std::optional<std::int64_t> size() const override {
    return static_cast<std::int64_t>(requests_.size());
  }

  [[nodiscard]] std::size_t stage_of(core::RequestId id) const override;
  /// How many times the requests of one rank the deployment has in a part of the run.
  [[nodiscard]] double times_rank(const MeasuredRun::Part& part) const;

 private:
  struct Stage {
    std::size_t begin = 0;  ///< Its requests in requests_.
    std::size_t end = 0;
    std::int64_t of_all_ranks = 0;  ///< Its requests in the deployment.
    std::int64_t concurrency = 0;   ///< 0: open.
    core::Duration length;          ///< After which an open stage is followed.
    bool drains = false;            ///< Starts when all before it have ended.
  };

  void plan(const StageLoad& load,
            const Evidence& facts,
            std::uint64_t seed,
            std::uint64_t number,
            std::int64_t ranks);
  /// Goes on to the next stage where its time has come.
  void advance();

  std::vector<domain::Request> requests_;  ///< `arrival` since the start of its stage.
  std::vector<Stage> stages_;
  std::size_t stage_ = 0;
  std::size_t next_ = 0;
  std::size_t completed_ = 0;
  core::SimTime stage_start_;
  core::SimTime last_completion_;
  /// Closed stages: when clients are free to send, earliest first.
  std::priority_queue<core::SimTime, std::vector<core::SimTime>, std::greater<>> free_;
  bool waits_ = false;
  std::atomic<bool>* all_sent_ = nullptr;
};

}  // namespace ridgeline::evidence::validate
