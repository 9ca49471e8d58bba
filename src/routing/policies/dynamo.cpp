#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "domain/chain.hpp"
#include "domain/request.hpp"
#include "routing/choice.hpp"
#include "routing/dynamo_cost.hpp"
#include "routing/policies/policies.hpp"
#include "routing/prefix_table.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

/// Dynamo's KV router without KV events: it believes what it sent. Whole blocks alone count. Active
/// blocks are those of the prompts in flight, each once however many of them share it; those of
/// answers are not counted.
class Dynamo final : public Router {
 public:
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
    std::vector<double> gains =
        dynamo_costs(workers, prompt, {.block_tokens = double{kBlockTokens}});
    for (double& gain : gains) {
      gain = -gain;
    }
    Pick pick = draw_highest(input, gains, draws);
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

  std::optional<PrefixTable> table_;
  std::vector<std::uint64_t> blocks_;  ///< Of the prompt at hand.
  /// By instance: how many prompts in flight hold each block. Looked up, never walked.
  std::vector<std::unordered_map<std::uint64_t, std::int64_t>> active_;
  std::unordered_map<core::RequestId::Rep, std::vector<std::uint64_t>> in_flight_;
};

}  // namespace

std::unique_ptr<Router> make_dynamo() {
  return std::make_unique<Dynamo>();
}

}  // namespace ridgeline::routing
