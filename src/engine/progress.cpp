#include "engine/progress.hpp"

#include <string_view>

#include <fmt/format.h>

#include "core/fault.hpp"
#include "engine/server.hpp"

namespace ridgeline::engine {

void end_without_progress(std::string_view engine, const InstanceState& state) {
  core::raise_fault({.text = fmt::format("{} has run {} steps without a token until {} s: {} "
                                         "requests run, {} wait, {} of {} blocks are free",
                                         engine,
                                         kMostStepsWithoutTokens,
                                         state.at.to_seconds(),
                                         state.running,
                                         state.waiting,
                                         state.free_blocks.value(),
                                         (state.used_blocks + state.free_blocks).value())});
}

}  // namespace ridgeline::engine
