#include "serve/servers.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "scenario/resolve.hpp"
#include "serve/emulator.hpp"
#include "serve/memory_reserve.hpp"
#include "serve/net/event_loop.hpp"
#include "serve/settings.hpp"
#include "sim/live/clock.hpp"

namespace ridgeline::serve {
namespace {

/// "arrivals.jsonl" as "arrivals-1.jsonl".
std::string numbered(const std::string& path, std::int64_t number) {
  const std::size_t name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  const std::size_t dot = path.rfind('.');
  const bool has_suffix = dot != std::string::npos && dot > name;
  const std::size_t end = has_suffix ? dot : path.size();
  return fmt::format("{}-{}{}", path.substr(0, end), number, path.substr(end));
}

/// What the server with this number does otherwise than the first.
Settings settings_of(const Settings& settings, std::int64_t number) {
  Settings own = settings;
  const int step = static_cast<int>(number);
  own.first_instance = number;
  own.address.port += own.address.port > 0 ? step : 0;
  if (own.admin_port && *own.admin_port > 0) {
    *own.admin_port += step;
  }
  if (own.arrival_log) {
    own.arrival_log = numbered(*own.arrival_log, number);
  }
  return own;
}

}  // namespace

core::Result<std::unique_ptr<Servers>> Servers::make(const scenario::Resolved& resolved,
                                                     const Settings& settings,
                                                     std::int64_t count) {
  std::unique_ptr<Servers> servers(new Servers());
  auto loop = net::EventLoop::make(settings.loop);
  if (!loop) {
    return core::fail(loop.error());
  }
  servers->loop_ = std::move(*loop);
  for (std::int64_t i = 0; i < count; ++i) {
    auto emulator =
        Emulator::make(resolved, count == 1 ? settings : settings_of(settings, i), *servers->loop_);
    if (!emulator) {
      return core::fail(emulator.error());
    }
    servers->emulators_.push_back(std::move(*emulator));
  }
  return servers;
}

void Servers::run(const std::atomic<bool>& interrupt) {
  const MemoryReserve reserve;
  for (const auto& emulator : emulators_) {
    emulator->watch(interrupt);
  }
  loop_->run(*this);
}

net::EventLoop::Wish Servers::run() {
  net::EventLoop::Wish next = emulators_.front()->run();
  for (std::size_t i = 1; i < emulators_.size(); ++i) {
    const net::EventLoop::Wish other = emulators_[i]->run();
    next = {.exact = std::min(next.exact, other.exact), .rough = std::min(next.rough, other.rough)};
  }
  return next;
}

bool Servers::tick() {
  bool goes_on = false;
  for (const auto& emulator : emulators_) {
    goes_on = emulator->tick() || goes_on;
  }
  return goes_on;
}

}  // namespace ridgeline::serve
