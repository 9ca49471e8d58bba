#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "engine/kv_connector.hpp"
#include "engine/probe.hpp"
#include "engine/probe_extras.hpp"
#include "engine/profiles.hpp"
#include "lab/conform/chunk_cache.hpp"
#include "lab/conform/recording.hpp"

namespace ridgeline::conform {

/// vLLM's connector that offloads KV to the host's memory, as its scheduler's side acts in a step
/// (kv_connector/v1/offloading/scheduler.py): what is looked up, loaded and stored.
class Offload final : public engine::KvConnector {
 public:
  Offload(const Recording& recording, const engine::Profile& profile);

  void set_now(core::SimTime now) override { static_cast<void>(now); }
  [[nodiscard]] std::int64_t find(core::RequestId request,
                                  Hashes hashes,
                                  std::int64_t local) override;
  std::uint64_t begin(core::RequestId request,
                      Hashes hashes,
                      std::int64_t local,
                      std::int64_t loaded) override;
  /// Stores are made as steps are formed: note_step().
  void store(core::RequestId request, Hashes hashes, std::int64_t before) override {
    static_cast<void>(request);
    static_cast<void>(hashes);
    static_cast<void>(before);
  }
  [[nodiscard]] bool stores_answers() const override { return false; }
  [[nodiscard]] bool hold(core::RequestId request) override;

  /// A step was formed, empty or not: what it stores. Returns what was handed out, by kind of job
  /// and request; Names gives names of requests.
  struct Part {
    core::RequestId id;
    std::vector<core::BlockId> blocks = {};
    std::vector<std::int64_t> chunks = {};
  };
  struct Jobs {
    std::vector<Part> stores = {};
    std::vector<Part> loads = {};
    std::vector<core::RequestId> flushed = {};     ///< Whose jobs are to end at once ...
    std::vector<std::uint64_t> flushed_jobs = {};  ///< ... and the numbers of these, from 0.
  };
  Jobs note_step(const engine::SchedulerProbe::Step& step,
                 const engine::SchedulerProbe& probe,
                 engine::ProbeExtras& extras);
  /// A step of the loop has ended: returns requests whose loads have.
  std::vector<core::RequestId> end_step();
  [[nodiscard]] bool is_idle() const { return jobs_.empty(); }

 private:
  struct Request {
    ChunkUses uses;
    std::vector<store::BlockKey> keys;  ///< What its full chunks hold.
    std::vector<core::BlockId> blocks;
    std::int64_t next = 0;  ///< The next chunk to offer.
    std::set<std::uint64_t> jobs;
    bool is_over = false;
  };
  struct Job {
    core::RequestId id;
    std::vector<store::BlockKey> keys;
    std::vector<core::BlockId> sources = {};  ///< Blocks that a store reads.
    std::int64_t left = 0;
    bool is_store = false;
  };
  void note_keys(Request& request, Hashes hashes) const;
  std::set<core::BlockId> note_blocks(const engine::SchedulerProbe::Step& step,
                                      const engine::SchedulerProbe& probe,
                                      engine::ProbeExtras& extras);
  void offer(core::RequestId id, std::int64_t tokens, Jobs& jobs);

  Recording::Offload options_;
  engine::Profile profile_;
  std::int64_t block_size_;
  ChunkCache cache_;
  std::map<core::RequestId, Request> requests_;
  std::map<core::RequestId, std::int64_t> prompts_;  ///< Tokens of each request's prompt.
  std::map<std::uint64_t, Job> jobs_;                ///< In the order of their numbers.
  std::uint64_t num_jobs_ = 0;
  std::set<store::BlockKey> loading_;
  std::vector<core::RequestId> ended_;  ///< Since the last step was formed.
  struct Load {
    core::RequestId id;
    std::int64_t begin = 0;  ///< The first block.
    std::int64_t end = 0;
    std::vector<std::int64_t> chunks = {};
  };
  std::vector<Load> loads_;  ///< Begun by the step that is being formed.
};

}  // namespace ridgeline::conform
