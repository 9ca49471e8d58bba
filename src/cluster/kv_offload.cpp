#include "cluster/kv_offload.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cluster/gateway.hpp"
#include "cluster/kv_offload_connector.hpp"
#include "cluster/link/kv_link.hpp"
#include "cluster/part.hpp"
#include "cluster/store/eviction.hpp"
#include "cluster/store/tier.hpp"
#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "domain/step.hpp"
#include "engine/kv_connector.hpp"
#include "engine/prefix_hashes.hpp"
#include "routing/router.hpp"

namespace ridgeline::cluster {
namespace {

using core::SimTime;
using link::WireId;

constexpr std::int64_t kWiresPerHost = 4;  ///< Memory and disk, each read and written.
constexpr std::int64_t kWiresOfStore = 2;  ///< Read and written; then two of each host.

std::size_t place(TierKind kind) {
  return static_cast<std::size_t>(kind);
}

std::int64_t num_hosts(const OffloadOptions& options, const Fleet& fleet) {
  const auto instances = static_cast<std::int64_t>(fleet.num_instances());
  return (instances + options.instances_per_host - 1) / options.instances_per_host;
}

/// A link of a tier that does not exist moves nothing.
std::int64_t rate_or_least(std::int64_t rate) {
  return std::max(rate, link::KvLink::kLeastCapacity);
}

std::vector<std::int64_t> host_wires(const OffloadOptions& options, std::int64_t hosts) {
  std::vector<std::int64_t> wires;
  for (std::int64_t host = 0; host < hosts; ++host) {
    for (const TierKind kind : {TierKind::kHost, TierKind::kDisk}) {
      wires.push_back(rate_or_least(options.tiers[place(kind)].read_rate));
      wires.push_back(rate_or_least(options.tiers[place(kind)].write_rate));
    }
  }
  return wires;
}

std::vector<std::int64_t> store_wires(const OffloadOptions& options, std::int64_t hosts) {
  const TierOptions& store = options.tiers[place(TierKind::kShared)];
  const bool has_limit = options.store_rate > 0;
  std::vector<std::int64_t> wires = {
      rate_or_least(has_limit ? options.store_rate : store.read_rate * hosts),
      rate_or_least(has_limit ? options.store_rate : store.write_rate * hosts)};
  for (std::int64_t host = 0; host < hosts; ++host) {
    wires.push_back(rate_or_least(store.read_rate));
    wires.push_back(rate_or_least(store.write_rate));
  }
  return wires;
}

}  // namespace

KvOffload::KvOffload(const OffloadOptions& options, Fleet& fleet)
    : options_(options),
      fleet_(fleet),
      host_lines_{.link = {options.sharing, host_wires(options, num_hosts(options, fleet))},
                  .moves = {}},
      store_lines_{
          .link = {link::Sharing::kMaxMin, store_wires(options, num_hosts(options, fleet))},
          .moves = {}},
      kept_(fleet.gateway().needs().tiers ? fleet.gateway().times().kv_history()
                                          : core::Duration()) {
  for (std::size_t kind = 0; kind < kNumTiers; ++kind) {
    const TierOptions& tier = options.tiers[kind];
    const bool is_shared = static_cast<TierKind>(kind) == TierKind::kShared;
    const std::size_t count = is_shared ? 1 : fleet.num_instances();
    for (std::size_t i = 0; tier.bytes > 0 && i < count; ++i) {
      tiers_[kind].push_back(new_tier(static_cast<TierKind>(kind), i));
    }
    before_[kind].resize(tiers_[kind].size());
  }
  for (std::size_t i = 0; i < fleet.num_instances(); ++i) {
    const core::InstanceId id(static_cast<core::InstanceId::Rep>(i));
    connectors_.push_back(std::make_unique<Connector>(*this, id));
    fleet.instance(id, SimTime()).connect(*connectors_.back());
    fleet.gateway_of(id).look_at_tiers(
        [this](const domain::Request& request,
               core::InstanceId place,
               const Gateway::Reported& known) { return overlap(request, place, known); });
  }
}

KvOffload::~KvOffload() = default;

std::unique_ptr<store::Tier> KvOffload::new_tier(TierKind kind, std::size_t place_of) const {
  const TierOptions& tier = options_.tiers[place(kind)];
  return std::make_unique<store::Tier>(tier.bytes, tier.eviction(capacity(kind, place_of)), kept_);
}

/// How many blocks the tier in that place has room for: of its instance, or of the smallest.
std::int64_t KvOffload::capacity(TierKind kind, std::size_t place_of) const {
  const auto chunk = [](const KvLayout& one) { return one.bytes_per_block * one.blocks_per_chunk; };
  const std::int64_t size =
      kind == TierKind::kShared
          ? chunk(std::ranges::min(options_.layouts, {}, chunk))
          : chunk_bytes(core::InstanceId(static_cast<core::InstanceId::Rep>(place_of)));
  return options_.tiers[place(kind)].bytes / size;
}

store::Tier::Write KvOffload::begin_write(TierKind kind,
                                          core::InstanceId id,
                                          store::BlockKey key,
                                          Keys& gone) {
  return tier(kind, id)->begin_write(key, chunk_bytes(id), gone);
}

store::Tier* KvOffload::tier(TierKind kind, core::InstanceId instance) const {
  const auto& all = tiers_[place(kind)];
  if (all.empty()) {
    return nullptr;
  }
  return kind == TierKind::kShared ? all.front().get() : all[instance.value()].get();
}

/// The fastest tier that there is.
TierKind KvOffload::top() const {
  const auto first = std::ranges::find_if(tiers_, [](const auto& all) { return !all.empty(); });
  RIDGELINE_CHECK(first != tiers_.end(), "there is a tier");
  return static_cast<TierKind>(first - tiers_.begin());
}

std::optional<TierKind> KvOffload::below(TierKind kind) const {
  for (std::size_t next = place(kind) + 1; next < kNumTiers; ++next) {
    if (!tiers_[next].empty()) {
      return static_cast<TierKind>(next);
    }
  }
  return std::nullopt;
}

/// The fastest tier that has the block.
std::optional<TierKind> KvOffload::where(store::BlockKey key, core::InstanceId instance) const {
  for (std::size_t i = 0; i < kNumTiers; ++i) {
    const store::Tier* const one = tier(static_cast<TierKind>(i), instance);
    if (one != nullptr && one->holds(key)) {
      return static_cast<TierKind>(i);
    }
  }
  return std::nullopt;
}

WireId KvOffload::wire(TierKind kind, std::int64_t host, bool writes) const {
  const std::int64_t first = kind == TierKind::kShared
                                 ? kWiresOfStore + 2 * host
                                 : kWiresPerHost * host + (kind == TierKind::kDisk ? 2 : 0);
  return WireId(static_cast<WireId::Rep>(first + (writes ? 1 : 0)));
}

/// What comes from a disk or a store passes the host's memory on its way, which is never slower.
link::Route KvOffload::route(const Move& move) const {
  const std::int64_t host = std::int64_t{move.instance.value()} / options_.instances_per_host;
  const bool writes = move.kind != Move::Kind::kLoad;
  link::Route wires = {wire(move.tier, host, writes)};
  if (move.tier == TierKind::kShared) {
    wires.emplace_back(writes ? 1 : 0);
  }
  return wires;
}

/// Whether what tiers hold would arrive before it could be computed: bytes over rate, on idle
/// links, against one step with that prompt alone.
bool KvOffload::loads_sooner(core::InstanceId instance,
                             engine::KvConnector::Hashes hashes,
                             std::int64_t local,
                             std::int64_t blocks) const {
  const KvLayout& own = layout(instance);
  if (own.recompute == nullptr) {
    return true;
  }
  const std::int64_t chunk = own.blocks_per_chunk;
  std::array<std::int64_t, kNumTiers> from = {};
  for (std::int64_t i = local / chunk; i < (local + blocks) / chunk; ++i) {
    const auto last = static_cast<std::size_t>((i + 1) * chunk - 1);
    from[place(*where(hashes[last] ^ own.key_salt, instance))] +=
        (i + 1) * chunk - std::max(i * chunk, local);
  }
  core::Duration longest;
  for (std::size_t i = 0; i < kNumTiers; ++i) {
    if (from[i] > 0) {
      const Move move{.tier = static_cast<TierKind>(i), .instance = instance};
      const link::KvLink& lines =
          move.tier == TierKind::kShared ? store_lines_.link : host_lines_.link;
      longest = std::max(
          longest,
          core::Duration::saturating_sum(options_.tiers[i].latency,
                                         lines.alone(bytes(instance, from[i]), route(move))));
    }
  }
  const std::array<domain::PrefillChunk, 1> prompt = {
      {{.past = own.block_tokens * local, .new_tokens = own.block_tokens * blocks}}};
  domain::StepBatch batch;
  batch.prefills = prompt;
  return longest < own.recompute->predict(batch).gpu();
}

void KvOffload::plan(SimTime at, Due due) {
  const core::InstanceId instance = due.move.instance;
  due_.emplace(DueKey(at, instance, num_due_++), std::move(due));
}

SimTime KvOffload::next_instant() const {
  const SimTime due = due_.empty() ? SimTime::never() : std::get<SimTime>(due_.begin()->first);
  return std::min({due, host_lines_.link.next_end(), store_lines_.link.next_end()});
}

void KvOffload::act(SimTime now) {
  for (const auto& all : tiers_) {
    for (std::size_t i = 0; i < all.size() && kept_ > core::Duration(); ++i) {
      all[i]->set_now(now);
    }
  }
  end_moves(host_lines_, now);
  end_moves(store_lines_, now);
  while (!due_.empty() && std::get<SimTime>(due_.begin()->first) <= now) {
    Due due = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    perform(std::move(due), now);
  }
}

void KvOffload::perform(Due due, SimTime now) {
  switch (due.kind) {
    case Due::Kind::kTouch:
      return touch(due.move);
    case Due::Kind::kLoad:
      return start(std::move(due.move), now);
    case Due::Kind::kStore:
      return write(std::move(due.move), now);
  }
}

/// The last block of a prompt first, so that it goes before those that it needs (vLLM).
void KvOffload::touch(const Move& move) {
  for (std::size_t i = 0; i < kNumTiers; ++i) {
    if (store::Tier* const one = tier(static_cast<TierKind>(i), move.instance); one != nullptr) {
      for (auto key = move.keys.rbegin(); key != move.keys.rend(); ++key) {
        one->touch(*key);
      }
    }
  }
}

/// Blocks of a step go to the first tier, those that it lacks and wants.
void KvOffload::write(Move move, SimTime now) {
  Keys gone;
  std::erase_if(move.keys, [&](store::BlockKey key) {
    return !connectors_[move.instance.value()]->is_wanted(key) ||
           begin_write(move.tier, move.instance, key, gone) != store::Tier::Write::kBegun;
  });
  if (options_.write_back) {
    copy_down(gone, move.tier, false, move.instance, now);
  }
  if (move.keys.empty()) {
    end_store(move, now);
    return;
  }
  move.blocks = std::ssize(move.keys) * layout(move.instance).blocks_per_chunk;
  start(std::move(move), now);
}

void KvOffload::start(Move move, SimTime now) {
  Lines& lines = lines_of(move.tier);
  move.start = now;
  const link::TransferId id = lines.link.start(bytes(move.instance, move.blocks), route(move), now);
  lines.moves.emplace(id, std::move(move));
}

void KvOffload::end_moves(Lines& lines, SimTime now) {
  if (lines.link.next_end() > now) {
    return;
  }
  for (const link::TransferId id : lines.link.end_next()) {
    const auto found = lines.moves.find(id);
    const Move move = std::move(found->second);
    lines.moves.erase(found);
    if (move.kind == Move::Kind::kLoad) {
      end_load(move, now);
    } else {
      end_write(move, now);
    }
  }
}

void KvOffload::end_load(const Move& move, SimTime now) {
  TierUse& use = totals_.tiers[place(move.tier)];
  use.hits += layout(move.instance).block_tokens * move.blocks;
  ++use.loads;
  use.bytes_read += bytes(move.instance, move.blocks);
  use.read_time += now - move.start;
  for (const store::BlockKey key : move.keys) {
    tier(move.tier, move.instance)->end_read(key);
  }
  if (options_.rules.promote_on_hit.value_or(true) && move.tier != top()) {
    promote(move, now);
  }
  const auto load = loads_.find({move.instance, move.load});
  if (--load->second.parts > 0) {
    return;
  }
  ++totals_.loads;
  totals_.load_time += now - load->second.begun;
  loads_.erase(load);
  fleet_.finish_load({move.request, move.load}, move.instance, reached(move.instance, now), true);
}

/// What passed the host on its way stays there.
void KvOffload::promote(const Move& move, SimTime now) {
  store::Tier& first = *tier(top(), move.instance);
  Keys gone;
  for (const store::BlockKey key : move.keys) {
    if (begin_write(top(), move.instance, key, gone) == store::Tier::Write::kBegun) {
      first.end_write(key);
    }
  }
  if (options_.write_back) {
    copy_down(gone, top(), false, move.instance, now);
  }
}

void KvOffload::end_write(const Move& move, SimTime now) {
  totals_.tiers[place(move.tier)].bytes_written += bytes(move.instance, move.blocks);
  store::Tier& written = *tier(move.tier, move.instance);
  for (const store::BlockKey key : move.keys) {
    written.end_write(key);
  }
  if (move.source) {
    for (const store::BlockKey key : move.keys) {
      tier(*move.source, move.instance)->end_read(key);
    }
  }
  if (!options_.write_back) {
    copy_down(move.keys, move.tier, true, move.instance, now);
  }
  if (move.kind == Move::Kind::kStore) {
    end_store(move, now);
  }
}

/// Blocks go on to the tier below, those that it lacks. What gives way above (`stays` false) leaves
/// through a buffer.
void KvOffload::copy_down(
    const Keys& keys, TierKind from, bool stays, core::InstanceId id, SimTime now) {
  const std::optional<TierKind> next = below(from);
  if (!next || keys.empty()) {
    return;
  }
  Move move{.kind = Move::Kind::kCopy, .tier = *next, .instance = id};
  Keys gone;
  for (const store::BlockKey key : keys) {
    if (begin_write(*next, id, key, gone) == store::Tier::Write::kBegun) {
      move.keys.push_back(key);
    }
  }
  if (options_.write_back) {
    copy_down(gone, *next, false, id, now);
  }
  if (move.keys.empty()) {
    return;
  }
  if (stays) {
    move.source = from;
    for (const store::BlockKey key : move.keys) {
      tier(from, id)->begin_read(key);
    }
  }
  move.blocks = std::ssize(move.keys) * layout(id).blocks_per_chunk;
  start(std::move(move), now);
}

/// The blocks of a request that has left were read for the last time.
void KvOffload::end_store(const Move& move, SimTime now) {
  for (std::int64_t left = connectors_[move.instance.value()]->end_store(move.request); left > 0;
       --left) {
    fleet_.release_blocks(move.request, move.instance, reached(move.instance, now));
  }
}

/// An instance that had nothing left to serve may have ended its last steps since.
SimTime KvOffload::reached(core::InstanceId id, SimTime now) {
  return std::max(now, fleet_.instance(id, now).now());
}

routing::TierTokens KvOffload::overlap(const domain::Request& request,
                                       core::InstanceId instance,
                                       const Gateway::Reported& known) {
  const KvLayout& own = layout(instance);
  if (asked_.first != request.id) {
    asked_ = {request.id, std::vector<std::vector<std::uint64_t>>(options_.layouts.size())};
  }
  std::vector<std::uint64_t>& hashes = asked_.second[layout_of(instance)];
  if (hashes.empty()) {
    hashes = engine::prefix_hashes(request, own.block_tokens);
  }
  const std::int64_t chunk = own.blocks_per_chunk;
  const std::int64_t tokens = chunk * own.block_tokens.value();
  routing::TierTokens found;
  bool in_store = true;
  for (std::int64_t i = 0; i < std::ssize(hashes) / chunk; ++i) {
    const auto has = [&](TierKind kind) {
      const store::Tier* const one = tier(kind, instance);
      return one != nullptr &&
             one->held_at(hashes[static_cast<std::size_t>((i + 1) * chunk - 1)] ^ own.key_salt,
                          known.as_of,
                          kind == TierKind::kShared ? SimTime() : known.since);
    };
    in_store = in_store && has(TierKind::kShared);
    found.shared += in_store ? tokens : 0;
    if (has(TierKind::kHost)) {
      found.host += tokens;
    } else if (has(TierKind::kDisk)) {
      found.disk += tokens;
    } else if (!in_store) {
      break;
    }
  }
  return found;
}

OffloadTotals KvOffload::totals() const {
  OffloadTotals totals = totals_;
  const std::int64_t hosts = num_hosts(options_, fleet_);
  for (std::size_t i = 0; i < kNumTiers; ++i) {
    TierUse& use = totals.tiers[i];
    for (std::size_t j = 0; j < tiers_[i].size(); ++j) {
      store::TierTotals blocks = before_[i][j];
      blocks += tiers_[i][j]->totals();
      use.blocks.written += blocks.written;
      use.blocks.evicted += blocks.evicted;
      use.blocks.refused += blocks.refused;
      use.blocks.peak += blocks.peak;
      use.capacity += capacity(static_cast<TierKind>(i), j);
    }
    if (tiers_[i].empty()) {
      continue;
    }
    use.read_rate = options_.tiers[i].read_rate;
    use.write_rate = options_.tiers[i].write_rate;
    const TierKind kind = static_cast<TierKind>(i);
    const link::KvLink& lines = kind == TierKind::kShared ? store_lines_.link : host_lines_.link;
    for (std::int64_t host = 0; host < hosts; ++host) {
      const auto moved = [&](bool writes) {
        return static_cast<std::int64_t>(lines.totals(wire(kind, host, writes)).bytes);
      };
      use.read_link_bytes = std::max(use.read_link_bytes, moved(false));
      use.write_link_bytes = std::max(use.write_link_bytes, moved(true));
    }
  }
  return totals;
}

}  // namespace ridgeline::cluster
