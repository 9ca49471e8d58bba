#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "routing/choice.hpp"
#include "routing/dynamo_cost.hpp"
#include "routing/parameters.hpp"
#include "routing/policies/policies.hpp"
#include "routing/prefix_table.hpp"
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
    std::ranges::fill(held_, 0);
    for (const std::uint64_t block : prompt.keys) {
      const auto holders = holders_.find(block);
      if (holders == holders_.end()) {
        return;  // Nor does a prompt in flight have any block behind it.
      }
      for (std::size_t i = 0; i < holders->second.size(); ++i) {
        held_[i] += holders->second[i] > 0 ? 1 : 0;
      }
    }
  }
  /// The blocks in flight at an instance once that prompt is there too.
  [[nodiscard]] std::int64_t with(std::size_t instance, const PromptBlocks& prompt) const {
    return sizes_[instance] + prompt.size() - held_[instance];
  }
  void begin(core::RequestId request, std::size_t instance, const PromptBlocks& prompt) {
    if (free_.empty()) {
      free_.push_back(sent_.size());
      sent_.emplace_back();
    }
    requests_.emplace(request.value(), free_.back());
    sent_[free_.back()] = {.instance = instance, .prompt = prompt};
    free_.pop_back();
    sizes_[instance] += prompt.own.count;
    hold(instance, prompt.keys);
  }
  void end(core::RequestId request, std::size_t instance) {
    // A request may be sent again before the router learns that it has ended elsewhere.
    auto found = requests_.find(request.value());
    while (sent_[found->second].instance != instance) {
      ++found;
    }
    Sent& sent = sent_[found->second];
    sizes_[instance] -= sent.prompt.own.count;
    for (const std::uint64_t block : sent.prompt.keys) {
      const auto holders = holders_.find(block);
      if (--holders->second[instance] == 0) {
        --sizes_[instance];
        if (std::ranges::all_of(holders->second, [](std::int32_t held) { return held == 0; })) {
          holders_.erase(holders);
        }
      }
    }
    sent = {};
    free_.push_back(found->second);
    requests_.erase(found);
  }
  /// From now on the own blocks of prompts in flight are found by their keys.
  void give_keys_to_own_blocks() {
    if (std::exchange(own_blocks_have_keys_, true)) {
      return;
    }
    for (Sent& sent : sent_) {
      const OwnBlocks own = std::exchange(sent.prompt.own, {});
      const std::size_t shared = sent.prompt.keys.size();
      for (std::int64_t i = 0; i < own.count; ++i) {
        sent.prompt.keys.push_back(own.key(i));
      }
      sizes_[sent.instance] -= own.count;
      hold(sent.instance, std::span(sent.prompt.keys).subspan(shared));
    }
  }

 private:
  struct Sent {
    std::size_t instance = 0;
    PromptBlocks prompt;
  };

  void hold(std::size_t instance, std::span<const std::uint64_t> blocks) {
    for (const std::uint64_t block : blocks) {
      auto& holders = holders_[block];
      holders.resize(std::max(holders.size(), sizes_.size()));
      sizes_[instance] += holders[instance]++ == 0 ? 1 : 0;
    }
  }

  std::vector<std::int64_t> sizes_;  ///< By instance.
  std::vector<std::int64_t> held_;   ///< By instance: of the prompt that count_held() got.
  /// By block with a key: how many prompts in flight at each instance have it.
  std::unordered_map<std::uint64_t, std::vector<std::int32_t>> holders_;
  std::vector<Sent> sent_;         ///< Of requests in flight, and empty ones.
  std::vector<std::size_t> free_;  ///< Places of the empty ones.
  std::unordered_multimap<core::RequestId::Rep, std::size_t> requests_;  ///< Places in sent_.
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
                 .prefill_scale = setup.number(kDynamoParameters, "prefill_load_scale"),
                 .request = setup.number(kDynamoParameters, "decode_active_request_weight")},
        temperature_(setup.number(kDynamoParameters, "router_temperature")) {}

  [[nodiscard]] Needs needs() const override { return {.own = true, .first_token = true}; }

  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& draws) override {
    read_prompt(input);
    const std::int64_t prompt = input.request.prompt_tokens.value();
    const auto matches = table_.matches(*prompt_);
    active_.count_held(*prompt_);
    workers_.clear();
    for (const InstanceView& view : input.instances) {
      const std::size_t id = view.id.value();
      workers_.push_back({.device_blocks = static_cast<double>(matches[id]),
                          .prefill_tokens = view.own.prefill_tokens,
                          .decode_blocks = static_cast<double>(active_.with(id, *prompt_)),
                          .requests = view.own.requests});
    }
    fill_dynamo_costs(workers_, prompt, weights_, costs_);
    Drawn drawn;
    if (temperature_ > 0.0) {
      drawn = {.place = draw_softly(draws)};
    } else {
      drawn = draw_place(costs_.size(), [&](std::size_t i) { return -costs_[i]; }, draws);
    }
    report_scores(input, [&](std::size_t i) { return -costs_[i]; });
    const core::InstanceId chosen = input.instances[drawn.place].id;
    return {.instance = chosen,
            .equals = drawn.equals,
            .uncached_tokens = prompt - matches[chosen.value()] * kBlockTokens};
  }

  void on_dispatch(const RouteInput& input, core::InstanceId instance) override {
    table_.add(instance.value(), *prompt_);
    active_.begin(input.request.id, instance.value(), *prompt_);
    reader_.note_sent(input.request.id);
  }

  void on_gone(core::InstanceId instance) override { table_.forget(instance.value()); }

  void on_end(core::RequestId request, core::InstanceId instance) override {
    active_.end(request, instance.value());
  }

 private:
  static constexpr std::int64_t kBlockTokens = 16;
  static constexpr std::int64_t kBlocks = 100'000;  ///< Per instance: more than a GPU holds.

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

  void read_prompt(const RouteInput& input) {
    const std::size_t instances = input.id_room();
    table_.make_room(instances);
    active_.make_room(instances);
    prompt_ = &reader_.read(input);
    if (reader_.own_blocks_have_keys()) {
      table_.give_keys_to_own_blocks();
      active_.give_keys_to_own_blocks();
    }
  }

  DynamoWeights weights_;
  double temperature_;
  PromptReader reader_{{.tokens = kBlockTokens,
                        .most = std::numeric_limits<std::int64_t>::max(),
                        .whole = true,
                        .memory = kBlocks}};
  PrefixTable table_{0, kBlocks};
  ActiveBlocks active_;
  // Of the decision at hand.
  const PromptBlocks* prompt_ = nullptr;
  std::vector<DynamoWorker> workers_;
  std::vector<double> costs_;
};

}  // namespace

std::span<const Parameter> dynamo_parameters() {
  return kDynamoParameters;
}

std::unique_ptr<Router> make_dynamo(const RouterSetup& setup) {
  return std::make_unique<Dynamo>(setup);
}

}  // namespace ridgeline::routing
