#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "domain/chain.hpp"
#include "domain/request.hpp"
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
    const auto matches = table_->matches(blocks_);
    std::vector<DynamoWorker> workers;
    for (std::size_t i = 0; i < input.instances.size(); ++i) {
      const auto fresh = std::ranges::count_if(
          blocks_, [&](std::uint64_t block) { return !active_[i].contains(block); });
      workers.push_back(
          {.device_blocks = static_cast<double>(matches[i]),
           .prefill_tokens = input.instances[i].own.prefill_tokens,
           .decode_blocks = static_cast<double>(active_[i].size()) + static_cast<double>(fresh),
           .requests = input.instances[i].own.requests});
    }
    const std::vector<double> costs = dynamo_costs(workers, prompt, weights_);
    Pick pick = temperature_ > 0.0 ? draw_softly(input, costs, draws)
                                   : draw_highest(input, negated(costs), draws);
    pick.uncached_tokens = prompt - matches[pick.instance.value()] * kBlockTokens;
    return pick;
  }

  void on_dispatch(const RouteInput& input, core::InstanceId instance) override {
    table_->add(instance.value(), blocks_);
    for (const std::uint64_t block : blocks_) {
      ++active_[instance.value()][block];
    }
    in_flight_.emplace(input.request.id.value(), std::move(blocks_));
  }

  void on_end(core::RequestId request, core::InstanceId instance) override {
    const auto blocks = in_flight_.extract(request.value());
    auto& active = active_[instance.value()];
    for (const std::uint64_t block : blocks.mapped()) {
      if (const auto held = active.find(block); --held->second == 0) {
        active.erase(held);
      }
    }
  }

 private:
  static constexpr std::int32_t kBlockTokens = 16;

  static std::vector<double> negated(std::vector<double> numbers) {
    for (double& number : numbers) {
      number = -number;
    }
    return numbers;
  }

  /// By the softmax of the costs, walked in order.
  [[nodiscard]] Pick draw_softly(const RouteInput& input,
                                 const std::vector<double>& costs,
                                 core::RngStream& draws) const {
    const std::vector<double> shares = dynamo_probabilities(costs, temperature_);
    double left = draws.uniform();
    std::size_t drawn = 0;
    while (drawn + 1 < shares.size() && left >= shares[drawn]) {
      left -= shares[drawn++];
    }
    return {.instance = input.instances[drawn].id};
  }
  static constexpr std::size_t kBlocks = 100'000;  ///< Per instance: more than a GPU holds.

  void read_prompt(const RouteInput& input) {
    const domain::RequestView& request = input.request;
    if (!table_) {
      table_.emplace(input.instances.size(), kBlocks);
      active_.resize(input.instances.size());
    }
    domain::Chain chain;
    chain.assign(input.prompt,
                 request.prompt_tokens,
                 request.lora,
                 domain::unique_content(request.id),
                 domain::output_content(request.id));
    const std::int64_t whole = request.prompt_tokens.value() / kBlockTokens * kBlockTokens;
    blocks_ = block_keys(chain, whole, kBlockTokens, whole);
  }

  DynamoWeights weights_;
  double temperature_;
  std::optional<PrefixTable> table_;
  std::vector<std::uint64_t> blocks_;  ///< Of the prompt at hand.
  /// By instance: how many prompts in flight hold each block. Looked up, never walked.
  std::vector<std::unordered_map<std::uint64_t, std::int64_t>> active_;
  std::unordered_map<core::RequestId::Rep, std::vector<std::uint64_t>> in_flight_;
};

}  // namespace

std::span<const Parameter> dynamo_parameters() {
  return kDynamoParameters;
}

std::unique_ptr<Router> make_dynamo(const RouterSetup& setup) {
  return std::make_unique<Dynamo>(setup);
}

}  // namespace ridgeline::routing
