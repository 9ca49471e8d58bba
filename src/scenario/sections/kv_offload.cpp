#include "scenario/sections/kv_offload.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cluster/link/kv_link.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "document/reader.hpp"
#include "engine/options.hpp"
#include "scenario/deployment.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/findings.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/kv_offload_section.hpp"
#include "scenario/sections/sections.hpp"
#include "workload/limits.hpp"

namespace ridgeline::scenario {
namespace {

constexpr std::string_view kKvOffload = "cluster.kv_offload.";
constexpr std::string_view kCpuBytes = "cluster.kv_offload.cpu_bytes_to_use";
constexpr std::string_view kDiskBytes = "cluster.kv_offload.disk_bytes_to_use";
constexpr std::string_view kSharedBytes = "cluster.kv_offload.shared_bytes_to_use";
constexpr std::string_view kOffloadBlockSize = "cluster.kv_offload.offload_block_size";
constexpr std::string_view kStoreBandwidth = "cluster.kv_offload.store_bandwidth";
constexpr std::array<std::string_view, 2> kEvictionPolicies = {"lru", "arc"};
constexpr std::array<std::string_view, 2> kLoadPolicies = {"always_load", "faster"};
constexpr std::array<std::string_view, 2> kWritePolicies = {"write_through", "write_back"};
constexpr std::array<std::string_view, 2> kLinkSharings = {"fifo", "max-min"};
constexpr double kMostUses = 1e6;

// One way of a PCIe 5.0 link with blocks of 2 MB (vLLM's post on its offloading connector,
// 2026-01-08: 83.4 GB/s both ways together).
constexpr std::string_view kHostBandwidth = "50GB/s";
// An NVMe disk of PCIe 4.0 (inference-sim's device class nvme_gen4, f90a1e3).
constexpr std::string_view kDiskReadBandwidth = "7GB/s";
constexpr std::string_view kDiskWriteBandwidth = "5GB/s";
constexpr core::Duration kDiskLatency = core::Duration::microseconds(80);
// A store over RDMA, 5 to 7 GB/s (agentic-kvc's measurements on an H20).
constexpr std::string_view kSharedBandwidth = "6GB/s";
// Assumed: a look-up and a read over the network; no measurement of it alone is published.
constexpr core::Duration kSharedLatency = core::Duration::milliseconds(1);

// clang-format off
constexpr auto kKvOffloadOptions = std::to_array<Option>({
    {.path = kCpuBytes, .flag = "cpu-bytes-to-use", .unset = "none",
     .help = "Host memory for KV, of each instance, with its unit", .example = "100GiB",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.cpu_bytes_to_use; }},
    {.path = kOffloadBlockSize, .flag = "offload-block-size", .unit = "tokens",
     .lowest = 1, .highest = workload::kMaxTokensPerRequest, .unset = "the engine's block size",
     .help = "Tokens of a block outside the GPUs; only whole ones are stored and found", .example = "256",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.offload_block_size; }},
    {.path = "cluster.kv_offload.eviction_policy", .flag = "eviction-policy", .choices = kEvictionPolicies, .unset = "lru",
     .help = "Which blocks give way in host memory", .example = "arc",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.eviction_policy; }},
    {.path = "cluster.kv_offload.store_threshold", .flag = "store-threshold",
     .lowest = 0, .highest = kMostUses, .unset = "0: at once",
     .help = "A block is stored once so many requests wanted it and the GPUs lacked it", .example = "2",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.rules.store_threshold; }},
    {.path = "cluster.kv_offload.offload_prompt_only", .flag = "offload-prompt-only", .unset = "true",
     .help = "Store blocks of prompts alone, not of answers", .example = "false",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.offload_prompt_only; }},
    {.path = "cluster.kv_offload.read_bandwidth", .flag = "read-bandwidth", .unset = kHostBandwidth,
     .help = "From a host's memory to its GPUs, of all its instances, with its unit", .example = "50GB/s",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.read_bandwidth; }},
    {.path = "cluster.kv_offload.write_bandwidth", .flag = "write-bandwidth", .unset = kHostBandwidth,
     .help = "The other way", .example = "50GB/s",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.write_bandwidth; }},
    {.path = "cluster.kv_offload.read_latency", .flag = "read-latency", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "0s",
     .help = "From blocks on the GPUs to the first byte from host memory", .example = "100us",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.read_latency; }},
    {.path = "cluster.kv_offload.offload_sharing", .flag = "offload-sharing", .choices = kLinkSharings, .unset = "fifo",
     .help = "How transfers share a host's link: one after the other, or fairly at once", .example = "max-min",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.offload_sharing; }},
    {.path = "cluster.kv_offload.min_hit_blocks", .flag = "min-hit-blocks", .unit = "blocks",
     .lowest = 1, .highest = workload::kMaxTokensPerRequest, .unset = "1",
     .help = "Fewer blocks of the engine are computed, not loaded", .example = "16",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.rules.min_hit_blocks; }},
    {.path = "cluster.kv_offload.load_policy", .flag = "load-policy", .choices = kLoadPolicies, .unset = "always_load",
     .help = "Load all that is there, or only what arrives before it could be computed", .example = "faster",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.load_policy; }},
    {.path = "cluster.kv_offload.write_policy", .flag = "write-policy", .choices = kWritePolicies, .unset = "write_through",
     .help = "A lower tier gets all that is stored above it, or what gives way there", .example = "write_back",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.write_policy; }},
    {.path = "cluster.kv_offload.promote_on_hit", .flag = "promote-on-hit", .unset = "true",
     .help = "What is loaded from a lower tier is in the highest from then on", .example = "false",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.rules.promote_on_hit; }},
    {.path = kDiskBytes, .flag = "disk-bytes-to-use", .unset = "none",
     .help = "Local disk for KV, of each instance, with its unit", .example = "1TiB",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.disk_bytes_to_use; }},
    {.path = "cluster.kv_offload.disk_eviction_policy", .flag = "disk-eviction-policy", .choices = kEvictionPolicies, .unset = "lru",
     .help = "Which blocks give way on disk", .example = "arc",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.disk_eviction_policy; }},
    {.path = "cluster.kv_offload.disk_read_bandwidth", .flag = "disk-read-bandwidth", .unset = kDiskReadBandwidth,
     .help = "From a host's disk, of all its instances, with its unit", .example = "12GB/s",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.disk_read_bandwidth; }},
    {.path = "cluster.kv_offload.disk_write_bandwidth", .flag = "disk-write-bandwidth", .unset = kDiskWriteBandwidth,
     .help = "To it", .example = "6GB/s",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.disk_write_bandwidth; }},
    {.path = "cluster.kv_offload.disk_latency", .flag = "disk-latency", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "80us",
     .help = "From blocks on the GPUs to the first byte from disk", .example = "200us",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.disk_latency; }},
    {.path = kSharedBytes, .flag = "shared-bytes-to-use", .unset = "none",
     .help = "A store that all instances share, with its unit", .example = "10TiB",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.shared_bytes_to_use; }},
    {.path = "cluster.kv_offload.shared_eviction_policy", .flag = "shared-eviction-policy", .choices = kEvictionPolicies, .unset = "lru",
     .help = "Which blocks give way in the store", .example = "arc",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.shared_eviction_policy; }},
    {.path = "cluster.kv_offload.shared_read_bandwidth", .flag = "shared-read-bandwidth", .unset = kSharedBandwidth,
     .help = "From the store to a host, of all its instances, with its unit", .example = "25GB/s",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.shared_read_bandwidth; }},
    {.path = "cluster.kv_offload.shared_write_bandwidth", .flag = "shared-write-bandwidth", .unset = kSharedBandwidth,
     .help = "The other way", .example = "25GB/s",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.shared_write_bandwidth; }},
    {.path = "cluster.kv_offload.shared_latency", .flag = "shared-latency", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "1ms",
     .help = "From blocks on the GPUs to the first byte from the store", .example = "5ms",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.shared_latency; }},
    {.path = kStoreBandwidth, .flag = "store-bandwidth", .unset = "no limit",
     .help = "Of the store with all hosts together, each way, with its unit", .example = "100GB/s",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.kv_offload.store_bandwidth; }},
});
// clang-format on

/// A whole number of at least `least` of what `unit` counts, with its unit.
core::Result<std::int64_t> quantity(std::string_view path,
                                    const std::string& text,
                                    std::string_view unit,
                                    std::int64_t least,
                                    std::string_view example) {
  constexpr double kMost = 1e15;  // As cluster.kv_transfer has it.
  const auto refuse = [&](std::string message) {
    return core::fail(core::Error{.field = std::string(path),
                                  .message = std::move(message),
                                  .hint = fmt::format("with a unit: {}", example)});
  };
  const bool is_rate = unit == "bytes_per_second";
  if (text.find_first_not_of("0123456789.eE+-") == std::string::npos) {
    return refuse(fmt::format(
        "found {}, expected {} with its unit", text, is_rate ? "a rate" : "a number of bytes"));
  }
  const auto parsed = document::parse_quantity(text, unit);
  if (!parsed) {
    return refuse(parsed.error().front().message);
  }
  if (!(*parsed >= static_cast<double>(least) && *parsed <= kMost)) {
    return refuse(
        fmt::format("found {}, expected {}", text, is_rate ? "1MB/s to 1000TB/s" : "1B to 1000TB"));
  }
  return std::llround(*parsed);
}

core::Result<std::int64_t> bytes_of(std::string_view path, const std::optional<std::string>& text) {
  return text ? quantity(path, *text, "bytes", 1, "100GiB") : core::Result<std::int64_t>(0);
}

/// What is stated, and what holds otherwise.
struct StatedRate {
  const std::optional<std::string>& text;
  std::string_view standard;
};

core::Result<std::int64_t> rate_of(std::string_view path, const StatedRate& rate) {
  return quantity(path,
                  rate.text.value_or(std::string(rate.standard)),
                  "bytes_per_second",
                  link::KvLink::kLeastCapacity,
                  rate.standard);
}

/// The keys of one tier.
struct StatedTier {
  std::string_view prefix;
  std::string_view bytes_path;
  const std::optional<std::string>& bytes;
  const std::optional<std::string>& eviction;
  StatedRate read;
  StatedRate write;
  core::Duration latency;
};

core::Result<KvTier> tier_of(const StatedTier& stated) {
  const auto path = [&](std::string_view key) {
    return fmt::format("{}{}{}", kKvOffload, stated.prefix, key);
  };
  const auto bytes = bytes_of(stated.bytes_path, stated.bytes);
  const auto read = rate_of(path("read_bandwidth"), stated.read);
  const auto write = rate_of(path("write_bandwidth"), stated.write);
  for (const auto* const value : {&bytes, &read, &write}) {
    if (!*value) {
      return core::fail(value->error());
    }
  }
  return KvTier{.bytes = *bytes,
                .eviction = stated.eviction.value_or(std::string(kEvictionPolicies.front())),
                .read_rate = *read,
                .write_rate = *write,
                .latency = stated.latency};
}

/// A setting of a tier that there is not would change nothing.
void refuse_without_tier(Findings& findings,
                         std::string_view prefix,
                         std::string_view bytes,
                         std::string_view what) {
  for (const Option& option : kKvOffloadOptions) {
    const std::string_view key = option.path.substr(kKvOffload.size());
    if (key.starts_with(prefix) && option.path != bytes && findings.given(option.path)) {
      findings.ignored(option.path, fmt::format("there is no {} without {}", what, bytes));
    }
  }
}

/// Settings of the host's tier have no prefix.
void refuse_without_host(Findings& findings) {
  for (const std::string_view key :
       {"eviction_policy", "read_bandwidth", "write_bandwidth", "read_latency"}) {
    const std::string path = fmt::format("{}{}", kKvOffload, key);
    if (findings.given(path)) {
      findings.ignored(path, fmt::format("no host memory is used without {}", kCpuBytes));
    }
  }
}

void check_tiers(const KvOffloadSection& section, Findings& findings) {
  if (!section.cpu_bytes_to_use) {
    refuse_without_host(findings);
  }
  if (!section.disk_bytes_to_use) {
    refuse_without_tier(findings, "disk_", kDiskBytes, "disk");
  }
  if (!section.shared_bytes_to_use) {
    refuse_without_tier(findings, "shared_", kSharedBytes, "store");
    refuse_without_tier(findings, "store_bandwidth", kSharedBytes, "store");
  }
  const int count = (section.cpu_bytes_to_use ? 1 : 0) + (section.disk_bytes_to_use ? 1 : 0) +
                    (section.shared_bytes_to_use ? 1 : 0);
  for (const std::string_view key : {"write_policy", "promote_on_hit"}) {
    const std::string path = fmt::format("{}{}", kKvOffload, key);
    if (count == 1 && findings.given(path)) {
      findings.ignored(path, "there is one tier");
    }
  }
  if (!section.cpu_bytes_to_use && !section.disk_bytes_to_use &&
      findings.given("cluster.kv_offload.offload_sharing")) {
    findings.ignored("cluster.kv_offload.offload_sharing", "no host keeps KV");
  }
}

}  // namespace

std::span<const Option> kv_offload_options() {
  return kKvOffloadOptions;
}

core::Result<KvTiers> kv_tiers(const KvOffloadSection& section) {
  const std::array<StatedTier, kNumKvTiers> stated = {
      {{.prefix = "",
        .bytes_path = kCpuBytes,
        .bytes = section.cpu_bytes_to_use,
        .eviction = section.eviction_policy,
        .read = {section.read_bandwidth, kHostBandwidth},
        .write = {section.write_bandwidth, kHostBandwidth},
        .latency = section.read_latency.value_or(core::Duration())},
       {.prefix = "disk_",
        .bytes_path = kDiskBytes,
        .bytes = section.disk_bytes_to_use,
        .eviction = section.disk_eviction_policy,
        .read = {section.disk_read_bandwidth, kDiskReadBandwidth},
        .write = {section.disk_write_bandwidth, kDiskWriteBandwidth},
        .latency = section.disk_latency.value_or(kDiskLatency)},
       {.prefix = "shared_",
        .bytes_path = kSharedBytes,
        .bytes = section.shared_bytes_to_use,
        .eviction = section.shared_eviction_policy,
        .read = {section.shared_read_bandwidth, kSharedBandwidth},
        .write = {section.shared_write_bandwidth, kSharedBandwidth},
        .latency = section.shared_latency.value_or(kSharedLatency)}}};
  KvTiers all;
  for (std::size_t i = 0; i < kNumKvTiers; ++i) {
    auto tier = tier_of(stated[i]);
    if (!tier) {
      return core::fail(std::move(tier.error()));
    }
    all.tiers[i] = std::move(*tier);
  }
  if (section.store_bandwidth) {
    const auto rate = rate_of(kStoreBandwidth, {section.store_bandwidth, "100GB/s"});
    if (!rate) {
      return core::fail(rate.error());
    }
    all.store_rate = *rate;
  }
  return all;
}

void check_kv_offload(Findings& findings) {
  const Scenario& scenario = findings.scenario();
  const ClusterSection& cluster = scenario.run.cluster;
  if (!cluster.kv_offload.has_tier()) {
    for (const Option& option : kKvOffloadOptions) {
      if (findings.given(option.path)) {
        findings.ignored(option.path,
                         fmt::format("no KV is kept outside the GPUs without {}", kCpuBytes));
      }
    }
    return;
  }
  const std::string_view first = cluster.kv_offload.cpu_bytes_to_use    ? kCpuBytes
                                 : cluster.kv_offload.disk_bytes_to_use ? kDiskBytes
                                                                        : kSharedBytes;
  if (const auto tiers = kv_tiers(cluster.kv_offload); !tiers) {
    const core::Error& error = tiers.error().front();
    findings.problem(error.field, error.message, error.hint);
  }
  check_tiers(cluster.kv_offload, findings);
  if (!scenario.deployment.engine.enable_prefix_caching) {
    findings.problem(first,
                     "KV outside the GPUs is found by the hashes of the prefix cache, which is off",
                     "engine.enable_prefix_caching: true");
  }
}

std::int64_t kv_block_bytes(const Deployment& deployment) {
  const EngineSection& engine = deployment.section.engine;
  // A rank's block holds its share of heads and layers; what ranks hold alike, each of them has.
  const double bytes =
      deployment.memory.block.value() *
      static_cast<double>(engine.tensor_parallel_size * engine.pipeline_parallel_size);
  return std::llround(std::ceil(bytes));
}

core::Errors offload_errors(const KvOffloadSection& section, const Deployment& deployment) {
  core::Errors errors;
  if (!section.has_tier()) {
    return errors;
  }
  const std::int64_t tokens = deployment.engine.block_size.value();
  const std::int64_t chunk = section.offload_block_size.value_or(tokens);
  if (chunk % tokens != 0) {
    errors.push_back({.field = std::string(kOffloadBlockSize),
                      .message = fmt::format(
                          "found {}, expected a multiple of the engine's {} tokens", chunk, tokens),
                      .hint = fmt::format("{}", (chunk / tokens + 1) * tokens)});
    return errors;
  }
  if (deployment.engine.scheduler != engine::EngineOptions().scheduler) {
    errors.push_back({.field = std::string(kCpuBytes),
                      .message = fmt::format("the engine {} is not simulated with KV tiers",
                                             deployment.engine.scheduler),
                      .hint = fmt::format("only {} is", engine::EngineOptions().scheduler)});
  }
  if (!deployment.engine.enable_prefix_caching) {
    errors.push_back({.field = std::string(kCpuBytes),
                      .message = "enable_prefix_caching is off, and KV tiers hold what it finds",
                      .hint = "--enable-prefix-caching"});
  }
  if (!engine::has_one_full_cache(deployment.engine)) {
    errors.push_back({.field = std::string(kCpuBytes),
                      .message = "this network's layers keep windows or states, which KV tiers do "
                                 "not take"});
  }
  const auto tiers = kv_tiers(section);
  const std::int64_t least = kv_block_bytes(deployment) * (chunk / tokens);
  constexpr std::array<std::string_view, kNumKvTiers> kPaths = {
      kCpuBytes, kDiskBytes, kSharedBytes};
  for (std::size_t i = 0; tiers && i < kNumKvTiers; ++i) {
    const std::int64_t bytes = tiers->tiers[i].bytes;
    if (bytes > 0 && bytes < least) {
      errors.push_back({.field = std::string(kPaths[i]),
                        .message = fmt::format(
                            "found {} bytes, expected room for a block of {} tokens: {} bytes",
                            bytes,
                            chunk,
                            least),
                        .hint = "100GiB"});
    }
  }
  return errors;
}

}  // namespace ridgeline::scenario
