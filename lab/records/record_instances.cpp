#include "lab/records/record_instances.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cluster/link/presets.hpp"
#include "document/document.hpp"
#include "lab/records/evidence_words.hpp"
#include "lab/records/ladder.hpp"
#include "lab/records/record_identity.hpp"

namespace ridgeline::records {
namespace {

/// Network cards of a host that a record may name.
constexpr std::int64_t kMostCards = 64;

/// Words for a wire by which network cards read each other's memory.
constexpr auto kRdmaWords =
    std::to_array<std::string_view>({"RDMA", "RoCE", "InfiniBand", "ConnectX"});

void set(Evidence& evidence, std::string_view path, std::string text) {
  evidence.stated.emplace_back(path, std::move(text));
}

std::int64_t gpus_of_instance(const RecordInstances& side, const Evidence& evidence) {
  return side.tensor_parallel * evidence.pipeline_parallel * side.data_parallel;
}

/// How KV gets from one instance to another: the measured link of that kind, with as many network
/// cards as the record has.
void read_wire(const document::Node& cluster,
               std::span<const RecordInstances> sides,
               Evidence& evidence) {
  const std::string text = text_at(cluster, "transfer");
  if (text.empty()) {
    evidence.assumed.emplace_back("KV transfer: a network card of 50 GB/s, 2 ms of set-up");
    return;
  }
  if (std::ranges::none_of(kRdmaWords, [&](auto word) { return mentions(text, word); })) {
    evidence.refusal = fmt::format("cluster.transfer: no measured link is like {}", text);
    return;
  }
  constexpr std::string_view kLink = "rdma";
  set(evidence, "cluster.kv_transfer.transfer_link", std::string(kLink));
  // "RDMA, 8 x ConnectX-7 RoCE": without a number each GPU has a card.
  const std::size_t times = text.find(" x ");
  std::optional<std::int64_t> cards;
  if (times != std::string::npos && times > 0) {
    // Nothing before the number: npos + 1 is 0.
    cards = number_after(text, text.substr(0, text.find_last_of(' ', times - 1) + 1));
  }
  if (!cards || std::ranges::all_of(sides, [&](const RecordInstances& side) {
        return *cards == gpus_of_instance(side, evidence);
      })) {
    return;
  }
  if (*cards > kMostCards) {
    evidence.problem =
        fmt::format("cluster.transfer: {} network cards, expected 1 to {}", *cards, kMostCards);
    return;
  }
  const auto* const link = std::ranges::find(link::kLinkPresets, kLink, &link::LinkPreset::name);
  set(evidence, "cluster.kv_transfer.network_cards", "host");
  // A rank that is an instance of its own has its part of them.
  set(evidence,
      "cluster.kv_transfer.transfer_bandwidth",
      fmt::format("{}MB/s",
                  *cards * link->card_bytes_per_second / sides.front().data_parallel / 1'000'000));
}

/// The instances of `side`, "prefill" or "decode"; nothing where they cannot be read, and says so.
std::optional<RecordInstances> read_side(const document::Node& cluster,
                                         std::string_view side,
                                         Evidence& evidence) {
  const document::Node* node = member_at(cluster, side);
  const std::string path = fmt::format("cluster.{}", side);
  if (node == nullptr || !node->is_map()) {
    evidence.problem = fmt::format("{}: {}, expected an object",
                                   path,
                                   node == nullptr ? "is missing" : "found " + node->describe());
    return std::nullopt;
  }
  const auto of_own_or = [&](std::string_view key, std::int64_t other) {
    return member_at(*node, key) == nullptr
               ? std::optional(other)
               : whole_number_of(*node, key, path, kMostRecordInstances, evidence);
  };
  const auto count = whole_number_of(*node, "instances", path, kMostRecordInstances / 2, evidence);
  const auto tp = whole_number_of(*node, "tp", path, kMostRecordInstances, evidence);
  const auto dp = of_own_or("dp", evidence.data_parallel);
  const auto ep = of_own_or("ep", evidence.expert_parallel);
  if (!count || !tp || !dp || !ep) {
    return std::nullopt;
  }
  return RecordInstances{
      .instances = *count, .tensor_parallel = *tp, .data_parallel = *dp, .expert_parallel = *ep};
}

/// How many instances there are of each side, as pools where their tensor-parallel sizes differ.
void place_sides(const RecordInstances& prefill,
                 const RecordInstances& decode,
                 Evidence& evidence) {
  if (prefill.tensor_parallel == decode.tensor_parallel) {
    set(evidence, "cluster.instances", fmt::format("{}", prefill.ranks() + decode.ranks()));
  } else {
    const auto pool = [](std::string_view name, const RecordInstances& side) {
      return fmt::format("{{name: {}, instances: {}, tensor_parallel_size: {}}}",
                         name,
                         side.ranks(),
                         side.tensor_parallel);
    };
    set(evidence,
        "cluster.pools",
        fmt::format("[{}, {}]", pool("prefill", prefill), pool("decode", decode)));
  }
  // A proxy that asks for the prompt, and then for the answer.
  set(evidence, "cluster.disaggregation.name", "production-stack");
  set(evidence, "cluster.disaggregation.prefill_instances", fmt::format("{}", prefill.ranks()));
  set(evidence, "cluster.disaggregation.decider", "always");
  evidence.assumed.emplace_back(
      "the proxy asks for the prompt, then for the answer, in no time of its own");
}

}  // namespace

RecordInstances instances_of(std::int64_t instances, const Evidence& evidence) {
  return {.instances = instances,
          .tensor_parallel = evidence.tensor_parallel,
          .data_parallel = evidence.data_parallel,
          .expert_parallel = evidence.expert_parallel};
}

std::optional<std::int64_t> whole_number_of(const document::Node& map,
                                            std::string_view key,
                                            std::string_view path,
                                            std::int64_t most,
                                            Evidence& evidence) {
  const document::Node* found = member_at(map, key);
  const auto count = count_at(map, key);
  if (count && *count >= 1 && *count <= most && static_cast<double>(*count) == found->as_real()) {
    return count;
  }
  if (evidence.problem.empty()) {
    evidence.problem = fmt::format("{}.{}: {}, expected a whole number from 1 to {}",
                                   path,
                                   key,
                                   found == nullptr ? "is missing" : "found " + found->describe(),
                                   most);
  }
  return std::nullopt;
}

void check_gpus(std::span<const RecordInstances> sides, Evidence& evidence) {
  std::int64_t all = 0;
  std::vector<std::string> terms;
  for (const RecordInstances& side : sides) {
    const std::int64_t gpus = gpus_of_instance(side, evidence);
    all += side.instances * gpus;
    terms.push_back(fmt::format("{} instances of {} GPUs", side.instances, gpus));
    if (side.expert_parallel > gpus) {
      evidence.refusal =
          fmt::format("cluster: ep {} over the {} GPUs of an instance is not simulated",
                      side.expert_parallel,
                      gpus);
    }
    if (side.ranks() > kMostRecordInstances) {
      evidence.problem = fmt::format("cluster: {} instances of dp {}, expected at most {} ranks",
                                     side.instances,
                                     side.data_parallel,
                                     kMostRecordInstances);
    }
  }
  if (evidence.num_gpus > 0 && evidence.num_gpus != all) {
    evidence.problem = fmt::format("cluster: {} are {}, and num_gpus is {}",
                                   fmt::join(terms, " and "),
                                   all,
                                   evidence.num_gpus);
  }
}

void read_apart(const document::Node& cluster, Evidence& evidence) {
  const auto prefill = read_side(cluster, "prefill", evidence);
  const auto decode = prefill ? read_side(cluster, "decode", evidence) : std::nullopt;
  if (!prefill || !decode) {
    return;
  }
  const auto sides = std::to_array({*prefill, *decode});
  Fleet& fleet = evidence.fleet.emplace();
  fleet.policy = "prefill and decode apart";
  auto ladder = std::make_shared<Ladder>();
  ladder->is_apart = true;
  ladder->campaign.instances = prefill->ranks() + decode->ranks();
  fleet.load = std::move(ladder);
  check_gpus(sides, evidence);
  const bool steps_together = prefill->data_parallel > 1 || decode->data_parallel > 1;
  if (steps_together && (prefill->tensor_parallel != decode->tensor_parallel ||
                         prefill->data_parallel != decode->data_parallel)) {
    evidence.refusal = fmt::format(
        "cluster: prefill of tp {} and dp {}, decode of tp {} and dp {}: data-parallel ranks are "
        "simulated where both are alike",
        prefill->tensor_parallel,
        prefill->data_parallel,
        decode->tensor_parallel,
        decode->data_parallel);
    return;
  }
  if ((prefill->expert_parallel > 1) != (decode->expert_parallel > 1)) {
    evidence.refusal = fmt::format(
        "cluster: prefill of ep {} and decode of ep {}: expert parallelism of one of them is not "
        "simulated",
        prefill->expert_parallel,
        decode->expert_parallel);
    return;
  }
  evidence.tensor_parallel = prefill->tensor_parallel;
  evidence.data_parallel = prefill->data_parallel;
  evidence.expert_parallel = prefill->expert_parallel;
  place_sides(*prefill, *decode, evidence);
  read_wire(cluster, sides, evidence);
}

}  // namespace ridgeline::records
