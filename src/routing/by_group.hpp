#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "routing/router.hpp"

namespace ridgeline::routing {

/// A policy for each of `groups` groups of instances, made alike: gateways of real systems keep
/// turns, trees and tables by model. RouteInput::group says which group a request is for.
[[nodiscard]] std::unique_ptr<Router> make_by_group(
    std::size_t groups, const std::function<std::unique_ptr<Router>()>& make);

}  // namespace ridgeline::routing
