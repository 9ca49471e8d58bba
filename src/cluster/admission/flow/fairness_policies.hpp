#pragma once

#include <memory>

#include "cluster/admission/flow/fairness.hpp"

namespace ridgeline::admission {

[[nodiscard]] std::unique_ptr<Fairness> make_global_strict();
[[nodiscard]] std::unique_ptr<Fairness> make_round_robin_flows();
[[nodiscard]] std::unique_ptr<Fairness> make_program_aware();
[[nodiscard]] std::unique_ptr<Fairness> make_virtual_tokens();
[[nodiscard]] std::unique_ptr<Fairness> make_weighted_fair();

}  // namespace ridgeline::admission
