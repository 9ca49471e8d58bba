#pragma once

#include <memory>

#include "routing/router.hpp"

/// One function per file of this folder; routing/registry.cpp lists them.
namespace ridgeline::routing {

[[nodiscard]] std::unique_ptr<Router> make_jsq_oracle();
[[nodiscard]] std::unique_ptr<Router> make_least_request();
[[nodiscard]] std::unique_ptr<Router> make_power_of_two();
[[nodiscard]] std::unique_ptr<Router> make_random();
[[nodiscard]] std::unique_ptr<Router> make_round_robin();
[[nodiscard]] std::unique_ptr<Router> make_session();

}  // namespace ridgeline::routing
