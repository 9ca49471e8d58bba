#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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

/// Dynamo's KV router without KV events: it believes what it sent. Whole blocks alone count, and
/// active blocks are those of the prompts in flight.
class Dynamo final : public Router {
 public:
  [[nodiscard]] Needs needs() const override { return {.own = true, .first_token = true}; }

  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& draws) override {
    const domain::RequestView& request = input.request;
    if (!table_) {
      table_.emplace(input.instances.size(), kBlocks);
    }
    domain::Chain chain;
    chain.assign(input.prompt,
                 request.prompt_tokens,
                 request.lora,
                 domain::unique_content(request.id),
                 domain::output_content(request.id));
    const std::int64_t whole = request.prompt_tokens.value() / kBlockTokens * kBlockTokens;
    blocks_ = block_keys(chain, whole, kBlockTokens, whole);
    const auto matches = table_->matches(blocks_);
    std::vector<DynamoWorker> workers;
    for (std::size_t i = 0; i < input.instances.size(); ++i) {
      const OwnCounters& own = input.instances[i].own;
      const std::int64_t tokens = own.tokens + request.prompt_tokens.value();
      workers.push_back({.device_blocks = static_cast<double>(matches[i]),
                         .prefill_tokens = own.prefill_tokens,
                         .decode_blocks = static_cast<double>(tokens / kBlockTokens),
                         .requests = own.requests});
    }
    std::vector<double> gains = dynamo_costs(
        workers, request.prompt_tokens.value(), {.block_tokens = double{kBlockTokens}});
    for (double& gain : gains) {
      gain = -gain;
    }
    return draw_highest(input, gains, draws);
  }

  void on_dispatch(const RouteInput& /*input*/, core::InstanceId instance) override {
    table_->add(instance.value(), blocks_);
  }

 private:
  static constexpr std::int32_t kBlockTokens = 16;
  static constexpr std::size_t kBlocks = 100'000;  ///< Per instance: more than a GPU holds.

  std::optional<PrefixTable> table_;
  std::vector<std::uint64_t> blocks_;
};

}  // namespace

std::unique_ptr<Router> make_dynamo() {
  return std::make_unique<Dynamo>();
}

}  // namespace ridgeline::routing
