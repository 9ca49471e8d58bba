#pragma once

#include <cstdint>
#include <string_view>

#include "engine/server.hpp"

namespace ridgeline::engine {

/// After so many steps in a row that bring no token an engine is taken to be in a loop without an
/// end. Ours to choose: ten times the steps of a prompt of a million tokens, computed one by one.
constexpr std::int64_t kMostStepsWithoutTokens = 10'000'000;

/// Ends the run with what is known of the engine.
[[noreturn]] void end_without_progress(std::string_view engine, const InstanceState& state);

}  // namespace ridgeline::engine
