#pragma once

#include <memory>
#include <span>

#include "routing/parameters.hpp"
#include "routing/router.hpp"

/// One function per policy of this folder, and one for its table of parameters where it has any;
/// routing/registry.cpp lists them.
namespace ridgeline::routing {

[[nodiscard]] std::unique_ptr<Router> make_aibrix(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_kthena(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_production_stack_prefix(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_production_stack_round_robin(
    const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_production_stack_session(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_sglang_dp(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_blis(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_dynamo(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_jsq_oracle(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_least_request(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_llm_d(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_llm_d_latency(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_llm_d_precise(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_llm_d_sticky(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_power_of_two(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_random_two(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_random(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_round_robin(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_session(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_ring_hash(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_maglev(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_sglang_prefix_hash(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_sglang_zmq(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_production_stack_kvaware(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_aibrix_least_kv_cache(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_sglang(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_vllm_dp(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_vllm_dp_fixed(const RouterSetup& setup = {});
[[nodiscard]] std::unique_ptr<Router> make_vllm_dp_rotating(const RouterSetup& setup = {});

[[nodiscard]] std::span<const Parameter> aibrix_parameters();
[[nodiscard]] std::span<const Parameter> blis_parameters();
[[nodiscard]] std::span<const Parameter> dynamo_parameters();
[[nodiscard]] std::span<const Parameter> kthena_parameters();
[[nodiscard]] std::span<const Parameter> llm_d_parameters();
[[nodiscard]] std::span<const Parameter> llm_d_latency_parameters();
[[nodiscard]] std::span<const Parameter> llm_d_sticky_parameters();
[[nodiscard]] std::span<const Parameter> production_stack_kvaware_parameters();
[[nodiscard]] std::span<const Parameter> production_stack_prefix_parameters();
[[nodiscard]] std::span<const Parameter> random_parameters();
[[nodiscard]] std::span<const Parameter> least_request_parameters();
[[nodiscard]] std::span<const Parameter> sglang_parameters();

}  // namespace ridgeline::routing
