#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/gateway.hpp"
#include "cluster/link/kv_link.hpp"
#include "cluster/part.hpp"
#include "cluster/store/eviction.hpp"
#include "cluster/store/rules.hpp"
#include "cluster/store/tier.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/time_sum.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/kv_connector.hpp"
#include "latency/step_time_model.hpp"
#include "routing/router.hpp"

namespace ridgeline::cluster {

/// Where KV is kept outside the GPUs, the fastest first: in the host's memory and on its disk, each
/// of one instance, and in a store that all instances share.
enum class TierKind : std::uint8_t { kHost, kDisk, kShared };
inline constexpr std::size_t kNumTiers = 3;
inline constexpr std::array<std::string_view, kNumTiers> kTierNames = {"host", "disk", "shared"};

struct TierOptions {
  std::int64_t bytes = 0;  ///< Size for one instance, or of the store; 0: there is no such tier.
  std::unique_ptr<store::Eviction> (*eviction)(std::int64_t) = nullptr;
  /// Bytes per second of a host's link with the tier, which its instances share.
  std::int64_t read_rate = 0;
  std::int64_t write_rate = 0;
  core::Duration latency = {};  ///< Before the first byte that is read.
};

/// The KV of an instance, in blocks.
struct KvLayout {
  core::Tokens block_tokens{16};      ///< Tokens of an engine's block.
  std::int64_t bytes_per_block = 0;   ///< Bytes of an engine's block, over all GPUs of an instance.
  std::int64_t blocks_per_chunk = 1;  ///< Blocks of the engine in a block of a tier.
  /// What is computed sooner than loaded is not loaded; null: all that is there is loaded.
  const latency::StepTimeModel* recompute = nullptr;
  /// Part of the names of blocks in a tier: layouts of another network, or cut another way, differ
  /// in it, as neither can use what the other stored.
  std::uint64_t key_salt = 0;
};

struct OffloadOptions {
  std::array<TierOptions, kNumTiers> tiers = {};  ///< By TierKind; at least one.
  std::vector<KvLayout> layouts = {{}};           ///< At least one.
  std::vector<std::size_t> layout_of = {};        ///< By instance; empty: all have the first.
  /// Rate of the shared store with all hosts together, bytes per second each way; 0: never the
  /// limit.
  std::int64_t store_rate = 0;
  std::int64_t instances_per_host = 1;
  store::OffloadRules rules = {};
  bool write_back = false;      ///< A tier gets what gives way above it; off: all that comes there.
  bool stores_answers = false;  ///< Blocks of answers too, not of prompts alone.
  link::Sharing sharing = link::Sharing::kFifo;  ///< Sharing of a host's links.
};

/// What one kind of tier did, over all instances.
struct TierUse {
  core::Tokens hits;                  ///< That were loaded from it.
  std::int64_t loads = 0;             ///< Transfers to GPUs that ended ...
  std::int64_t bytes_read = 0;        ///< ... and their bytes.
  core::TimeSum read_time = {};       ///< Sum of their times, first to last byte.
  std::int64_t bytes_written = 0;     ///< Bytes of the transfers into the tier that ended.
  store::TierTotals blocks = {};      ///< Tier blocks; the peak is the sum of the instances'.
  std::int64_t capacity = 0;          ///< Tier blocks, of all instances; of a store, the smallest.
  std::int64_t read_link_bytes = 0;   ///< Moved over the busiest link of one host, each way: by
  std::int64_t write_link_bytes = 0;  ///< transfers that ended, and parts of others.
  std::int64_t read_rate = 0;         ///< Bytes per second of such a link.
  std::int64_t write_rate = 0;

  friend bool operator==(const TierUse&, const TierUse&) = default;
};

struct OffloadTotals {
  core::Tokens queries;          ///< In full blocks that were looked up: not on the GPUs.
  core::Tokens hits;             ///< Tokens of those blocks that were loaded.
  std::int64_t loads = 0;        ///< Requests that got all that they loaded.
  core::TimeSum load_time = {};  ///< Sum over them: blocks given to last byte.
  std::int64_t recomputed = 0;   ///< Requests that computed what could have been loaded, as sooner.
  std::array<TierUse, kNumTiers> tiers = {};

  friend bool operator==(const OffloadTotals&, const OffloadTotals&) = default;
};

/// KV tiers of every instance of a cluster: what is where, and the transfers between GPUs and tiers
/// (docs/internals/fleet.md). Instances look tiers up when they schedule; all that changes a tier
/// happens here, one tick later at the earliest, so that it makes no difference in which order
/// instances are advanced to one instant.
class KvOffload final : public Part {
 public:
  /// Connects every instance of the cluster. Gateways of parts that are made later look at no tier.
  KvOffload(const OffloadOptions& options, Fleet& fleet);
  ~KvOffload() override;

  [[nodiscard]] core::SimTime next_instant() const override;
  void act(core::SimTime now) override;
  [[nodiscard]] bool is_kept(core::InstanceId id) const override;
  void on_stop(core::InstanceId id, core::SimTime now) override;
  void on_renew(core::InstanceId id) override;

  /// What tiers were reported to have of a request's prompt; not longer ago than
  /// GatewayTimes::kv_history().
  [[nodiscard]] routing::TierTokens overlap(const domain::Request& request,
                                            core::InstanceId instance,
                                            const Gateway::Reported& known);
  [[nodiscard]] OffloadTotals totals() const;

 private:
  class Connector;
  using Keys = std::vector<store::BlockKey>;
  /// A request waits for blocks from tiers.
  struct Load {
    core::SimTime begun;
    std::int64_t parts = 0;  ///< Tiers that still read for it.
  };
  /// Blocks on their way: to the GPUs, from there to a tier, or from one tier to a lower one.
  struct Move {
    enum class Kind : std::uint8_t { kLoad, kStore, kCopy };
    Kind kind = Kind::kLoad;
    TierKind tier = TierKind::kHost;      ///< That is read for the GPUs, or written.
    std::optional<TierKind> source = {};  ///< For a copy whose blocks stay above meanwhile.
    core::InstanceId instance = {};
    core::RequestId request = {};  ///< None of a copy.
    std::uint64_t load = 0;        ///< The instance's load that this is a part of.
    Keys keys = {};
    std::int64_t blocks = 0;  ///< Blocks of the engine.
    core::SimTime start = {};
  };
  /// What is due at an instant, of an instance.
  struct Due {
    enum class Kind : std::uint8_t { kTouch, kLoad, kStore };
    Kind kind = Kind::kTouch;
    Move move;
  };
  using DueKey = std::tuple<core::SimTime, core::InstanceId, std::uint64_t>;
  /// One of the two sets of wires, and what moves there.
  struct Lines {
    link::KvLink link;
    std::map<link::TransferId, Move> moves;
  };

  [[nodiscard]] store::Tier* tier(TierKind kind, core::InstanceId instance) const;
  [[nodiscard]] TierKind top() const;
  [[nodiscard]] std::optional<TierKind> below(TierKind kind) const;
  [[nodiscard]] std::optional<TierKind> where(store::BlockKey key, core::InstanceId instance) const;
  [[nodiscard]] std::size_t layout_of(core::InstanceId id) const {
    return options_.layout_of.empty() ? 0 : options_.layout_of[id.value()];
  }
  [[nodiscard]] const KvLayout& layout(core::InstanceId id) const {
    return options_.layouts[layout_of(id)];
  }
  [[nodiscard]] std::int64_t bytes(core::InstanceId id, std::int64_t blocks) const {
    return blocks * layout(id).bytes_per_block;
  }
  [[nodiscard]] std::int64_t chunk_bytes(core::InstanceId id) const {
    return bytes(id, layout(id).blocks_per_chunk);
  }
  [[nodiscard]] std::int64_t capacity(TierKind kind, std::size_t place) const;
  [[nodiscard]] store::Tier::Write begin_write(TierKind kind,
                                               core::InstanceId id,
                                               store::BlockKey key,
                                               Keys& gone);
  [[nodiscard]] link::WireId wire(TierKind kind, std::int64_t host, bool writes) const;
  [[nodiscard]] link::Route route(const Move& move) const;
  [[nodiscard]] Lines& lines_of(TierKind kind) {
    return kind == TierKind::kShared ? store_lines_ : host_lines_;
  }
  [[nodiscard]] bool loads_sooner(core::InstanceId instance,
                                  engine::KvConnector::Hashes hashes,
                                  std::int64_t local,
                                  std::int64_t blocks) const;

  [[nodiscard]] std::unique_ptr<store::Tier> new_tier(TierKind kind, std::size_t place) const;
  void plan(core::SimTime at, Due due);
  void perform(Due due, core::SimTime now);
  void touch(const Move& move);
  void write(Move move, core::SimTime now);
  void start(Move move, core::SimTime now);
  void end_moves(Lines& lines, core::SimTime now);
  void end_load(const Move& move, core::SimTime now);
  void end_write(const Move& move, core::SimTime now);
  void promote(const Move& move, core::SimTime now);
  void copy_down(
      const Keys& keys, TierKind from, bool stays, core::InstanceId id, core::SimTime now);
  void end_store(const Move& move, core::SimTime now);
  void stop_moves(Lines& lines, core::InstanceId id, core::SimTime now);
  void stop_load(const Move& move);
  void stop_write(const Move& move);
  void empty_tiers(core::InstanceId id);
  [[nodiscard]] core::SimTime reached(core::InstanceId id, core::SimTime now);

  OffloadOptions options_;
  Fleet& fleet_;
  /// By tier: of each instance, or one that all share. Empty where there is no such tier.
  std::array<std::vector<std::unique_ptr<store::Tier>>, kNumTiers> tiers_;
  /// Totals of the tiers of instances that are gone.
  std::array<std::vector<store::TierTotals>, kNumTiers> before_;
  std::vector<std::unique_ptr<Connector>> connectors_;  ///< By instance.
  Lines host_lines_;                                    ///< Memory and disk of each host.
  Lines store_lines_;
  std::map<DueKey, Due> due_;
  std::uint64_t num_due_ = 0;
  std::map<std::pair<core::InstanceId, std::uint64_t>, Load> loads_;  ///< By number.
  core::Duration kept_;  ///< How long ago overlap() is asked of.
  /// Request that overlap() was asked about last: its hashes in each layout.
  std::pair<core::RequestId, std::vector<std::vector<std::uint64_t>>> asked_;
  OffloadTotals totals_;
};

}  // namespace ridgeline::cluster
