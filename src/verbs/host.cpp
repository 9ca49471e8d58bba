#include "verbs/host.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "verbs/run.hpp"
#include "verbs/run/run_result.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {

void Host::warn(const core::Warning& /*warning*/) {}
bool Host::wants(std::string_view format) const {
  return format == "json";
}
std::optional<int> Host::hand_over(const std::vector<evidence::validate::Evidence>& /*records*/) {
  return std::nullopt;
}
void Host::take(Request& /*request*/) {}
core::Result<void> Host::begin(const Run& /*run*/) {
  return {};
}
void Host::end(core::Result<RunResult>& /*result*/) {}
core::Result<std::ostream*> Host::open(std::string_view /*key*/) {
  return nullptr;
}
void Host::progress(const sim::Progress& /*at*/) {}
void Host::progress(const Stage& /*at*/) {}
void Host::progress(std::int64_t /*requests*/, std::optional<double> /*share*/) {}

std::unique_ptr<Host::Watch> Host::watch(Work /*work*/) {
  return nullptr;
}

const std::atomic<bool>& Host::stop() const {
  static const std::atomic<bool> kNever = false;
  return kNever;
}

int Host::stopped() const {
  return kInterrupted;
}

}  // namespace ridgeline::verbs
