#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "engine/probe.hpp"
#include "engine/probe_extras.hpp"
#include "engine/profiles.hpp"
#include "lab/conform/offload.hpp"
#include "lab/conform/recording.hpp"

namespace ridgeline::conform {

using core::RequestId;
using engine::SchedulerProbe;

/// What we found under one key of a record.
struct Value {
  std::string text = {};
  std::string or_else = {};  ///< Another way to write the same, if there is one.
  bool is_optional = false;  ///< A recorder may write it or not.
};
/// One record, in the file's order of keys.
using Record = std::vector<std::pair<std::string, Value>>;

/// The keys that a recorder may not write at all.
struct Written {
  bool blocks = false;
  bool parked = false;
  bool aborted = false;
  bool idle = false;  ///< Iterations without a step, in which KV moves.
  bool next_drafts = false;
  bool failed = false;
};

/// Whether a probe has what the recording asks for: KV that moves over time, and actions.
[[nodiscard]] bool can_run(const Recording& recording, const SchedulerProbe& probe);

/// Drives a scheduler through a recorded workload, one loop iteration of the recording at a time.
class Replay {
 public:
  Replay(const Recording& recording,
         const engine::Profile& profile,
         SchedulerProbe& probe,
         const Written& written)
      : recording_(recording),
        probe_(probe),
        extras_(dynamic_cast<engine::ProbeExtras*>(&probe)),
        written_(written) {
    for (std::size_t i = 0; i < recording.entries.size(); ++i) {
      index_[recording.entries[i].request.id] = i;
      for (const auto& input : recording.entries[i].inputs) {
        last_input_ = std::max(last_input_, input.step);
      }
    }
    if (recording.offload) {
      offload_ = std::make_unique<Offload>(recording, profile);
      extras_->connect(*offload_);
    }
    draws_.resize(recording.entries.size());
    rows_.resize(recording.entries.size());
  }

  struct Row {
    std::optional<std::int64_t> first_scheduled, first_token, finished, aborted;
  };

  /// The records of the whole run.
  std::vector<Record> run();
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }

 private:
  [[nodiscard]] const std::string& name(core::RequestId id) const {
    return recording_.entries[index_.at(id)].name;
  }
  [[nodiscard]] std::string names(const std::vector<RequestId>& ids) const;
  /// The recording keeps these as sets. Ids are ranks of the names.
  [[nodiscard]] std::string sorted_names(std::vector<RequestId> ids) const {
    std::sort(ids.begin(), ids.end());
    return names(ids);
  }
  Record iteration(std::int64_t step);
  void act(std::int64_t step, Record& record);
  void add_arrivals(std::int64_t step);
  void add_inputs(std::int64_t step);
  [[nodiscard]] std::string parked() const;
  bool idle(Record& record);
  std::vector<RequestId> fail_sync_loads(const std::vector<SchedulerProbe::Scheduled>& items,
                                         Record& record);
  std::vector<RequestId> move_kv(Record& record);
  bool add_lost(RequestId id, std::int64_t first, std::vector<core::BlockId>& lost) const;
  std::vector<RequestId> lose(const std::vector<core::BlockId>& blocks, Record& record);
  std::vector<RequestId> abort_requests(std::int64_t step);
  void note_loads();
  void note_offload(const SchedulerProbe::Step& formed, Record& record);
  void note_aborted_as_finished(std::int64_t step,
                                std::vector<RequestId> ids,
                                Record& record) const;
  [[nodiscard]] Value waiting() const;
  bool form_step(std::int64_t step, Record& record);
  void note_admitted(std::int64_t step,
                     const SchedulerProbe::Step& formed,
                     const std::vector<RequestId>& parked,
                     Record& record);
  void end_step(std::int64_t step, Record& record);
  [[nodiscard]] std::string block_tables() const;
  [[nodiscard]] std::int64_t tokens_of(const SchedulerProbe::Scheduled& item);

  const Recording& recording_;
  SchedulerProbe& probe_;
  engine::ProbeExtras* extras_;  ///< The probe's; none where it has none.
  Written written_;
  std::unique_ptr<Offload> offload_;  ///< None: nothing is offloaded.
  std::map<RequestId, std::size_t> index_;
  std::vector<std::int64_t> draws_;  ///< Sampling events so far, per request.
  std::vector<Row> rows_;
  std::deque<std::vector<SchedulerProbe::Scheduled>> in_flight_;
  std::size_t arrived_ = 0;
  std::int64_t last_input_ = 0;  ///< The last step before which input of a session comes.
  std::map<RequestId, std::int64_t> loads_;  ///< On the way, for so many ends of steps.
  std::map<RequestId, std::int64_t>
      sends_;                   ///< Finished requests whose blocks are read, for so many.
  std::set<RequestId> loaded_;  ///< That had KV on the way.
  std::set<RequestId> failed_;  ///< Whose KV did not come.
  std::set<std::string> lost_;  ///< Blocks that were left empty in this iteration.
};

}  // namespace ridgeline::conform
