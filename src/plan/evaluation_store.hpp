#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "plan/capacity.hpp"
#include "plan/certify.hpp"
#include "plan/space.hpp"
#include "plan/sure_load.hpp"
#include "plan/target.hpp"
#include "scenario/resolve.hpp"
#include "sweep/shard_file.hpp"

namespace ridgeline::plan {

/// What runs of a search found, in a folder: a search that was interrupted, or one that asks for
/// the same runs, takes them from there. An entry is known by a digest of everything that its value
/// depends on (the point's id, targets, length and seed of the runs, where the search for a rate
/// begins, the program's version), so that entries never get old and many questions may share a
/// folder. Each process appends to a file of its own; a torn last line is passed over.
class EvaluationStore {
 public:
  /// Makes the folder or takes the one that is there, and reads it. Fails where that cannot be, and
  /// where an entry is not what its checksum is of.
  [[nodiscard]] static core::Result<std::unique_ptr<EvaluationStore>> open(
      const std::string& folder, std::string_view version, sweep::Clock clock);

  [[nodiscard]] std::string capacity_key(const std::string& point,
                                         const Targets& targets,
                                         const CapacityOptions& options) const;
  [[nodiscard]] std::string certification_key(const std::string& point,
                                              const Targets& targets,
                                              const CertifyOptions& options) const;

  /// Nothing for a key that the folder lacks. Any thread.
  [[nodiscard]] std::optional<Capacity> capacity(const std::string& key) const;
  [[nodiscard]] std::optional<Certification> certification(const std::string& key) const;
  [[nodiscard]] core::Result<void> keep(const std::string& key, const Capacity& capacity);
  [[nodiscard]] core::Result<void> keep(const std::string& key, const Certification& found);

 private:
  EvaluationStore() = default;

  using Numbers = std::vector<double>;
  core::Result<void> read_file(const std::string& path);
  core::Result<void> keep_numbers(const std::string& key, const Numbers& numbers);

  std::string version_;
  std::map<std::string, Numbers, std::less<>> known_;  ///< As it was when the store was opened.
  std::unique_ptr<sweep::ShardFile> file_;
};

/// find_capacity() of a point with that id; taken from the store, and kept there, where there is
/// one.
[[nodiscard]] core::Result<std::optional<Capacity>> find_stored_capacity(
    EvaluationStore* store,
    const std::string& id,
    const scenario::Resolved& resolved,
    const Targets& targets,
    const CapacityOptions& options,
    const std::atomic<bool>& interrupt);

/// The run that `run` makes of a deployment, and if that meets every target, windows of other
/// requests (certify), on the replicas that serve. The numbers are those of the run, but for the
/// certificate. Taken from the store, and kept there, where there is one. `doubt` is of the
/// deployment's latencies (TargetResult::sure).
[[nodiscard]] core::Result<std::optional<Certification>> find_stored_certification(
    EvaluationStore* store,
    const ResolvedSpacePoint& whole,
    const ResolvedSpacePoint& serving,
    const Targets& targets,
    const LatencyDoubt& doubt,
    const CertifyOptions& options,
    const std::atomic<bool>& interrupt);

}  // namespace ridgeline::plan
