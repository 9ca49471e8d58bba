#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "evidence/validate/evidence.hpp"

namespace ridgeline::sim {
struct Progress;
}

namespace ridgeline::verbs {

class Request;
struct Run;
struct RunResult;

/// How far a search is: points of a sweep, runs of a plan.
struct Stage {
  std::string name = {};   ///< "looking at points", "certifying"; empty where there is one alone.
  std::int64_t done = 0;   ///< Done in the stage.
  std::int64_t found = 0;  ///< Done before it began.
  std::int64_t all = 0;
  std::string best = {};  ///< The best so far, if any.
};

/// The program that asks: what a verb tells it, and hears of it, while it works. The command line
/// is one; a process that calls the library is another.
class Host {
 public:
  Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  virtual ~Host() = default;

  /// A warning about what is read or set, before the answer is known.
  virtual void warn(const core::Warning& warning);

  /// Whether the answer will be shown in that format, or that artefact of it written.
  [[nodiscard]] virtual bool wants(std::string_view format) const;

  /// The file that a key of kind kOpen names, to be written while the verb works; the host
  /// completes it behind the answer. Null where none is named.
  [[nodiscard]] virtual core::Result<std::ostream*> open(std::string_view key);

  /// Hands records over to a program that reads them; its exit code, or nothing where they are read
  /// here.
  [[nodiscard]] virtual std::optional<int> hand_over(
      const std::vector<evidence::validate::Evidence>& records);

  /// Takes the host's own keys of a run.
  virtual void take(Request& request);
  /// Before a run begins, and when it has ended: a host listens to it, and adds to what it found.
  [[nodiscard]] virtual core::Result<void> begin(const Run& run);
  virtual void end(core::Result<verbs::RunResult>& result);

  /// How far the work is, from any thread.
  virtual void progress(const sim::Progress& at);
  virtual void progress(const Stage& at);
  /// Requests of a workload that is read, and how much of it that is where it is known.
  virtual void progress(std::int64_t requests, std::optional<double> share);

  /// While it lives, the host may ask for an end: stop() is set.
  class Watch {
   public:
    Watch() = default;
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    virtual ~Watch() = default;
  };
  enum class Work : std::uint8_t {
    kHere,       ///< On this thread, which asks the host by its progress.
    kOnThreads,  ///< On others.
  };
  [[nodiscard]] virtual std::unique_ptr<Watch> watch(Work work);
  [[nodiscard]] virtual const std::atomic<bool>& stop() const;
  /// The code of an answer that was stopped.
  [[nodiscard]] virtual int stopped() const;
};

}  // namespace ridgeline::verbs
