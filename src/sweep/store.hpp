#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "sweep/row.hpp"

namespace ridgeline::sweep {

/// Reasons that are counted each for itself (ours: those of one sweep are few, but each may name a
/// number of its point).
inline constexpr std::size_t kMostReasons = 1000;

/// Where a row stands.
struct RowPlace {
  std::int64_t ordinal = 0;
  std::uint64_t offset = 0;  ///< Place of its line in the file.
  std::uint32_t length = 0;  ///< Without what may differ from run to run.
  std::uint32_t file = 0;    ///< Index in Contents::files.
};

/// What a store holds.
struct Contents {
  std::vector<std::string> files;  ///< Names of the shards' files, sorted.
  std::vector<RowPlace> rows;      ///< In no order; a point may stand twice.
  std::int64_t torn_lines = 0;  ///< Last lines without a break, as a kill leaves them: passed over.
  /// Rows without a checksum, as earlier versions wrote them.
  std::int64_t unchecked_rows = 0;
  std::array<std::int64_t, kNumStatuses> by_status{};  ///< Each point once.
  /// Why points have no result, and how many have each reason; of the first kMostReasons.
  std::map<std::string, std::int64_t> reasons;
  std::int64_t done = 0;     ///< Points that have a row.
  double wall_time_s = 0.0;  ///< Sum over rows.
  std::vector<bool> has;     ///< By ordinal.
};

/// A folder with the results of one sweep: `sweep.json` says which, and each process that works on
/// it appends to a file of its own below `shards/`. Readers and writers need no lock: a line is
/// written whole; a last one that is not is passed over.
class Store {
 public:
  /// Makes the folder, or takes the one that is there; that of another sweep is refused, and so is
  /// one whose results another version computed. `description` is Sweep::description().
  [[nodiscard]] static core::Result<Store> open(const std::string& folder,
                                                const document::Node& description);
  /// The folder as it is.
  [[nodiscard]] static core::Result<Store> find(const std::string& folder);

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::string shards() const { return folder_ + "/shards"; }
  [[nodiscard]] const std::string& digest() const { return digest_; }
  [[nodiscard]] std::int64_t points() const { return points_; }
  [[nodiscard]] const document::Node& description() const { return description_; }
  /// The first line of a shard's file.
  [[nodiscard]] std::string header() const;
  /// Reads every shard's file. Fails where one belongs to another sweep, and where a row is not
  /// what its checksum is of.
  [[nodiscard]] core::Result<Contents> read() const;

 private:
  Store() = default;

  [[nodiscard]] core::Result<void> read_file(std::uint32_t index, Contents& contents) const;

  std::string folder_;
  std::string digest_;
  std::int64_t points_ = 0;
  document::Node description_;
};

}  // namespace ridgeline::sweep
