#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/id_table.hpp"
#include "core/ids.hpp"
#include "core/rng.hpp"
#include "routing/choice.hpp"
#include "routing/dynamo_cost.hpp"
#include "routing/parameters.hpp"
#include "routing/prefix_table.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

constexpr std::string_view kDynamoSource = "NVIDIA Dynamo 2a6da14 (August 2026)";
constexpr auto kDynamoParameters = std::to_array<Parameter>({
    {.name = "overlap_score_credit",
     .standard = 1.0,
     .lowest = 0.0,
     .highest = 1e3,
     .help = "What a block of the prompt that is there saves, in blocks to compute",
     .source = kDynamoSource},
    {.name = "overlap_score_credit_decay",
     .standard = 0.0,
     .lowest = 0.0,
     .highest = 1e3,
     .help = "How much less it saves where more prompt tokens wait than elsewhere",
     .source = kDynamoSource},
    {.name = "host_cache_hit_weight",
     .standard = 0.75,
     .lowest = 0.0,
     .highest = 1e3,
     .help = "What a block saves that the host's memory has, and the GPUs have not",
     .source = kDynamoSource},
    {.name = "disk_cache_hit_weight",
     .standard = 0.25,
     .lowest = 0.0,
     .highest = 1e3,
     .help = "The same of a block that is on disk alone",
     .source = kDynamoSource},
    {.name = "shared_cache_multiplier",
     .standard = 0.0,
     .lowest = 0.0,
     .highest = 1e3,
     .help = "The same of a block in the store that all instances share",
     .source = kDynamoSource},
    {.name = "prefill_load_scale",
     .standard = 1.0,
     .lowest = 0.0,
     .highest = 1e3,
     .help = "Weight of blocks to compute beside blocks held",
     .source = kDynamoSource},
    {.name = "decode_active_request_weight",
     .standard = 0.0,
     .lowest = 0.0,
     .highest = 1e6,
     .help = "Blocks that a request in flight counts for",
     .source = kDynamoSource},
    {.name = "router_temperature",
     .standard = 0.0,
     .lowest = 0.0,
     .highest = 1e3,
     .help = "0 takes the lowest cost; above, a draw by the softmax of costs",
     .source = kDynamoSource},
});

/// The blocks of the prompts in flight at each instance, each block once however many share it.
class ActiveBlocks {
 public:
  /// There are at least so many instances.
  void make_room(std::size_t instances) {
    if (instances > sizes_.size()) {
      sizes_.resize(instances);
      held_.resize(instances);
    }
  }
  /// How many blocks of a prompt each instance has in flight, for with().
  void count_held(const PromptBlocks& prompt) {
    if (std::exchange(has_held_, false)) {
      std::ranges::fill(held_, 0);
    }
    for (const std::uint64_t block : prompt.keys) {
      const auto holders = holders_.find(block);
      if (holders == holders_.end()) {
        return;  // Nor does a prompt in flight have any block behind it.
      }
      has_held_ = true;
      for (std::size_t i = 0; i < holders->second.size(); ++i) {
        held_[i] += holders->second[i] > 0 ? 1 : 0;
      }
    }
  }
  /// The blocks in flight at an instance once that prompt of so many blocks is there too.
  [[nodiscard]] std::int64_t with(std::size_t instance, std::int64_t blocks) const {
    return sizes_[instance] + blocks - held_[instance];
  }
  void begin(core::RequestId request, std::size_t instance, const PromptBlocks& prompt) {
    // A request may be sent again before the router learns that it has ended elsewhere.
    const bool is_first = sent_.find(request.value()) == nullptr;
    Sent& sent = is_first ? sent_.add(request.value()) : again_[request.value()].emplace_back();
    sent.instance = static_cast<core::InstanceId::Rep>(instance);
    sent.own_count = static_cast<std::int32_t>(prompt.own_count);
    sent.own = prompt.own;
    sent.keys = prompt.keys;
    block_tokens_ = prompt.block_tokens;
    sizes_[instance] += prompt.own_count;
    hold(instance, prompt.keys);
  }
  /// As Router::expect().
  void expect(core::RequestId request) { sent_.fetch_line(request.value()); }
  void end(core::RequestId request, std::size_t instance) {
    Sent& first = *sent_.find(request.value());
    if (!again_.empty() && end_one_of_several(request, first, instance)) {
      return;
    }
    let_go(first);
    sent_.erase(request.value());
  }
  /// From now on the own blocks of prompts in flight are found by their keys.
  void give_keys_to_own_blocks() {
    if (std::exchange(own_blocks_have_keys_, true)) {
      return;
    }
    sent_.for_each([this](std::uint64_t /*request*/, Sent& sent) { give_keys(sent); });
    for (auto& [request, others] : again_) {
      for (Sent& sent : others) {
        give_keys(sent);
      }
    }
  }

 private:
  /// One cache line.
  struct alignas(64) Sent {
    core::InstanceId::Rep instance = 0;
    std::int32_t own_count = 0;  ///< Entries of `own`.
    OwnBlocks own = {};
    std::vector<std::uint64_t> keys;
  };

  /// Ends that of a request which was sent more than once; false of any other.
  bool end_one_of_several(core::RequestId request, Sent& first, std::size_t instance) {
    const auto found = again_.find(request.value());
    if (found == again_.end()) {
      return false;
    }
    std::vector<Sent>& others = found->second;
    const auto place = std::ranges::find(others, instance, &Sent::instance);
    Sent& ended = place == others.end() ? first : *place;
    let_go(ended);
    if (&ended != &others.back()) {
      ended = std::move(others.back());
    }
    others.pop_back();
    if (others.empty()) {
      again_.erase(found);
    }
    return true;
  }
  void give_keys(Sent& sent) {
    const std::size_t shared = sent.keys.size();
    for (std::int64_t i = 0; i < sent.own_count; ++i) {
      sent.keys.push_back(sent.own.key(i, block_tokens_));
    }
    sizes_[sent.instance] -= std::exchange(sent.own_count, 0);
    hold(sent.instance, std::span(sent.keys).subspan(shared));
  }
  void let_go(const Sent& sent) {
    sizes_[sent.instance] -= sent.own_count;
    for (const std::uint64_t block : sent.keys) {
      const auto holders = holders_.find(block);
      if (--holders->second[sent.instance] == 0) {
        --sizes_[sent.instance];
        if (std::ranges::all_of(holders->second, [](std::int32_t held) { return held == 0; })) {
          holders_.erase(holders);
        }
      }
    }
  }
  void hold(std::size_t instance, std::span<const std::uint64_t> blocks) {
    for (const std::uint64_t block : blocks) {
      auto& holders = holders_[block];
      holders.resize(std::max(holders.size(), sizes_.size()));
      sizes_[instance] += holders[instance]++ == 0 ? 1 : 0;
    }
  }

  std::vector<std::int64_t> sizes_;  ///< By instance.
  std::vector<std::int64_t> held_;   ///< By instance: of the prompt that count_held() got.
  bool has_held_ = false;            ///< Not all of these are 0.
  /// By block with a key: how many prompts in flight at each instance have it.
  std::unordered_map<std::uint64_t, std::vector<std::int32_t>> holders_;
  core::IdTable<Sent> sent_;  ///< Requests in flight, by id.
  /// Those that were sent once more, elsewhere or there.
  std::map<core::RequestId::Rep, std::vector<Sent>> again_;
  std::int64_t block_tokens_ = 1;
  bool own_blocks_have_keys_ = false;
};

/// Dynamo's KV router without KV events: it believes what it sent. Whole blocks alone count. Active
/// blocks are those of the prompts in flight, each once however many of them share it; those of
/// answers are not counted.
class Dynamo final : public Router {
 public:
  explicit Dynamo(const RouterSetup& setup)
      : weights_{.block_tokens = double{kBlockTokens},
                 .overlap_credit = setup.number(kDynamoParameters, "overlap_score_credit"),
                 .overlap_decay = setup.number(kDynamoParameters, "overlap_score_credit_decay"),
                 .host = setup.number(kDynamoParameters, "host_cache_hit_weight"),
                 .disk = setup.number(kDynamoParameters, "disk_cache_hit_weight"),
                 .shared = setup.number(kDynamoParameters, "shared_cache_multiplier"),
                 .prefill_scale = setup.number(kDynamoParameters, "prefill_load_scale"),
                 .request = setup.number(kDynamoParameters, "decode_active_request_weight")},
        temperature_(setup.number(kDynamoParameters, "router_temperature")) {}

  [[nodiscard]] Needs needs() const override {
    return {.own = true, .first_token = true, .tiers = true};
  }

  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& draws) override {
    const std::int64_t prompt = input.request.prompt_tokens.value();
    const auto matches = sent_.matches(input);
    active_.make_room(input.id_room());
    if (sent_.own_blocks_have_keys()) {
      active_.give_keys_to_own_blocks();
    }
    active_.count_held(sent_.prompt());
    read_workers(input, matches);
    read_tiers(input, matches);
    fill_dynamo_costs(workers_, prompt, weights_, costs_);
    report_scores(input, [&](std::size_t i) { return -costs_[i]; });
    const Drawn drawn =
        temperature_ > 0.0 ? Drawn{.place = draw_softly(draws)} : draw_lowest(costs_, draws);
    const core::InstanceId chosen = input.instances[drawn.place].id;
    return {.instance = chosen,
            .equals = drawn.equals,
            .uncached_tokens = prompt - matches[chosen.value()] * kBlockTokens};
  }

  void on_dispatch(const RouteInput& input, core::InstanceId instance) override {
    sent_.on_dispatch(input, instance);
    active_.begin(input.request.id, instance.value(), sent_.prompt());
  }

  void on_gone(core::InstanceId instance) override { sent_.on_gone(instance); }

  void expect(core::RequestId request) override { active_.expect(request); }
  void on_end(core::RequestId request, core::InstanceId instance) override {
    active_.end(request, instance.value());
  }

 private:
  static constexpr std::int64_t kBlockTokens = 16;
  static constexpr std::int64_t kBlocks = 100'000;  ///< Per instance: more than a GPU holds.

  void read_workers(const RouteInput& input, std::span<const std::int64_t> matches) {
    const std::size_t size = input.instances.size();
    const std::int64_t blocks = sent_.prompt().size();
    const bool has_matches = sent_.has_matches();
    workers_.device_blocks.resize(has_matches ? size : 0);
    workers_.prefill_tokens.resize(size);
    workers_.decode_blocks.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      const InstanceView& view = input.instances[i];
      const std::size_t id = view.id.value();
      workers_.prefill_tokens[i] = static_cast<double>(view.own.prefill_tokens);
      workers_.decode_blocks[i] = static_cast<double>(active_.with(id, blocks));
    }
    for (std::size_t i = 0; has_matches && i < size; ++i) {
      workers_.device_blocks[i] = static_cast<double>(matches[input.instances[i].id.value()]);
    }
    if (weights_.request != 0.0) {
      workers_.requests.resize(size);
      for (std::size_t i = 0; i < size; ++i) {
        workers_.requests[i] = static_cast<double>(input.instances[i].own.requests);
      }
    }
  }

  /// By the softmax of the costs, walked in order.
  [[nodiscard]] std::size_t draw_softly(core::RngStream& draws) const {
    const std::vector<double> shares = dynamo_probabilities(costs_, temperature_);
    double left = draws.uniform();
    std::size_t drawn = 0;
    while (drawn + 1 < shares.size() && left >= shares[drawn]) {
      left -= shares[drawn++];
    }
    return drawn;
  }

  /// Blocks outside the GPUs, beyond those that the router believes on them.
  template <class Matches>
  void read_tiers(const RouteInput& input, const Matches& matches) {
    const std::size_t size = input.tiers.size();
    for (auto* const row :
         {&workers_.host_blocks, &workers_.disk_blocks, &workers_.shared_blocks}) {
      row->resize(size);
    }
    const auto beyond = [](std::int64_t tokens, std::int64_t held) {
      const std::int64_t blocks = std::max<std::int64_t>(tokens - held, 0) / kBlockTokens;
      return static_cast<double>(blocks);
    };
    for (std::size_t i = 0; i < size; ++i) {
      const TierTokens& tiers = input.tiers[i];
      const std::int64_t device = matches[input.instances[i].id.value()] * kBlockTokens;
      workers_.host_blocks[i] = beyond(tiers.host, device);
      workers_.disk_blocks[i] = beyond(tiers.host + tiers.disk, std::max(tiers.host, device));
      workers_.shared_blocks[i] = beyond(tiers.shared, device);
    }
  }

  DynamoWeights weights_;
  double temperature_;
  SentPrompts sent_{{.tokens = kBlockTokens,
                     .most = std::numeric_limits<std::int64_t>::max(),
                     .whole = true,
                     .memory = kBlocks}};
  ActiveBlocks active_;
  // The decision at hand.
  DynamoColumns workers_;
  std::vector<double> costs_;
};

}  // namespace

extern const RouterEntry kDynamo{
    .name = "dynamo",
    .summary = "fewest blocks to compute and hold, less what it sent there before",
    .source = "NVIDIA Dynamo 2a6da14 (August 2026), KV router without events",
    .make = make_policy<Dynamo>,
    .parameters = [] { return std::span<const Parameter>(kDynamoParameters); },
};

}  // namespace ridgeline::routing
