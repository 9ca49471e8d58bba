#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/rng.hpp"
#include "routing/connection.hpp"
#include "routing/hash_ring.hpp"
#include "routing/prefix_table.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

/// Envoy's minimum_ring_size is 1024 over all hosts; so many points each here, whatever their
/// number: no instance that comes or goes moves a key between two others.
constexpr std::size_t kRingPoints = 1024;
constexpr std::size_t kMaglevEntries = 65'537;  ///< Envoy's default table.
// SGLang gateway e8d57e7, prefix_hash.
constexpr std::int64_t kHashedTokens = 256;
constexpr double kLoadFactor = 1.25;
constexpr std::size_t kSglangPoints = 160;

/// A session's own instance on a ring; a request without a session is one by itself.
class RingHash final : public Router {
 public:
  [[nodiscard]] Needs needs() const override { return {}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& /*draws*/) override {
    ring_.assign(input);
    const std::size_t place = ring_.walk(connection_of(input.request, 0)).front();
    return {.instance = input.instances[place].id, .reason = Reason::kSession};
  }

 private:
  HashRing ring_{kRingPoints};
};

/// Hashes by Maglev's table.
class Maglev final : public Router {
 public:
  [[nodiscard]] Needs needs() const override { return {}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& /*draws*/) override {
    table_.assign(input);
    const std::uint64_t hash =
        core::RngStream(0, 0, "key in a table", connection_of(input.request, 0)).next_u64();
    return {.instance = input.instances[table_.at(hash)].id, .reason = Reason::kSession};
  }

 private:
  MaglevTable table_{kMaglevEntries};
};

/// SGLang's prefix_hash: the prompt's first tokens choose a point of the ring; from there the first
/// worker that is not loaded above its share by more than the factor, else the key's own.
class PrefixHash final : public Router {
 public:
  [[nodiscard]] Needs needs() const override { return {.own = true}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& /*draws*/) override {
    ring_.assign(input);
    const std::vector<std::uint64_t>& keys = reader_.read(input).keys;
    const std::uint64_t key = keys.empty() ? input.request.id.value() : keys.front();
    const std::vector<std::size_t> places = ring_.walk(key);
    std::int64_t in_flight = 1;  // With the request at hand.
    for (const InstanceView& view : input.instances) {
      in_flight += view.own.requests;
    }
    const double share =
        static_cast<double>(in_flight) / static_cast<double>(input.instances.size());
    for (const std::size_t place : places) {
      if (static_cast<double>(input.instances[place].own.requests) <= kLoadFactor * share) {
        return {.instance = input.instances[place].id,
                .reason = place == places.front() ? Reason::kPrefix : Reason::kLoad};
      }
    }
    return {.instance = input.instances[places.front()].id, .reason = Reason::kPrefix};
  }

 private:
  HashRing ring_{kSglangPoints};
  PromptReader reader_{{.tokens = kHashedTokens, .most = kHashedTokens}};
};

}  // namespace

extern const RouterEntry kRingHash{
    .name = "ring-hash",
    .summary = "the requests of a session stay with its instance on a ring of hashes",
    .source = "Envoy ring_hash",
    .make = make_policy<RingHash>,
};

extern const RouterEntry kMaglev{
    .name = "maglev",
    .summary = "the same by a table that all instances fill alike",
    .source = "Envoy maglev; Eisenbud and others, NSDI 2016",
    .make = make_policy<Maglev>,
};

extern const RouterEntry kSglangPrefixHash{
    .name = "sglang-prefix-hash",
    .summary =
        "the first 256 tokens choose; the next on a ring where that has 1.25 times its share",
    .source = "SGLang gateway e8d57e7 (May 2026), prefix_hash",
    .make = make_policy<PrefixHash>,
};

}  // namespace ridgeline::routing
