#pragma once

#include <memory>

#include "routing/router.hpp"

/// One function per file of this folder; routing/registry.cpp lists them.
namespace ridgeline::routing {

[[nodiscard]] std::unique_ptr<Router> make_blis();
[[nodiscard]] std::unique_ptr<Router> make_dynamo();
[[nodiscard]] std::unique_ptr<Router> make_jsq_oracle();
[[nodiscard]] std::unique_ptr<Router> make_least_request();
[[nodiscard]] std::unique_ptr<Router> make_llm_d();
[[nodiscard]] std::unique_ptr<Router> make_llm_d_sticky();
[[nodiscard]] std::unique_ptr<Router> make_power_of_two();
[[nodiscard]] std::unique_ptr<Router> make_random();
[[nodiscard]] std::unique_ptr<Router> make_round_robin();
[[nodiscard]] std::unique_ptr<Router> make_session();
[[nodiscard]] std::unique_ptr<Router> make_sglang();
[[nodiscard]] std::unique_ptr<Router> make_vllm_dp();
[[nodiscard]] std::unique_ptr<Router> make_vllm_dp_fixed();
[[nodiscard]] std::unique_ptr<Router> make_vllm_dp_rotating();

}  // namespace ridgeline::routing
