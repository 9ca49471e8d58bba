#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/result.hpp"
#include "scenario/resolve.hpp"
#include "serve/emulator.hpp"
#include "serve/net/event_loop.hpp"
#include "serve/settings.hpp"

namespace ridgeline::serve {

/// One server, or several alike that know nothing of each other, on consecutive ports: one loop for
/// all of them.
class Servers final : private net::EventLoop::Work {
 public:
  /// They listen from here on. `resolved` outlives them: what each of them serves. Of several, the
  /// arrival log of server i is named with "-i" before its suffix. Fails as Emulator::make().
  [[nodiscard]] static core::Result<std::unique_ptr<Servers>> make(
      const scenario::Resolved& resolved, const Settings& settings, std::int64_t count);

  [[nodiscard]] const std::vector<std::unique_ptr<Emulator>>& all() const { return emulators_; }
  /// Serves until `interrupt` is set, and the answers under way have ended or their time is over.
  void run(const std::atomic<bool>& interrupt);

 private:
  Servers() = default;
  net::EventLoop::Wish run() override;
  bool tick() override;

  std::unique_ptr<net::EventLoop> loop_;
  std::vector<std::unique_ptr<Emulator>> emulators_;
};

}  // namespace ridgeline::serve
