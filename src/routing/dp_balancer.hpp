#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "routing/router.hpp"

namespace ridgeline::routing {

/// vLLM's balancer between data-parallel engines, as one of its clients runs it.
class DpBalancer {
 public:
  enum class Generation : std::uint8_t {
    kFixedStart,     ///< To 2026-07-05: 4 waiting + running; the scan starts at one place.
    kRotatingStart,  ///< From #47420, 2026-07-06: the start moves on by one after every pick.
    kKvPressure,     ///< August 2026: own requests in flight, and a penalty on full caches.
  };

  DpBalancer(Generation generation,
             std::size_t engines,
             std::int64_t clients = 1,
             std::int64_t client = 0);

  /// The coordinator published these gauges of an engine: they replace the local counts.
  void publish(std::size_t engine, const Gauges& gauges) { gauges_[engine] = gauges; }
  /// Makes room for that many engines; those there are stay.
  void reserve(std::size_t engines);
  /// Whether an engine may be picked; at least one may.
  void set_open(std::size_t engine, bool open) { open_[engine] = open; }
  /// The first open engine with the lowest score, from the start on, which is then counted as
  /// waiting there.
  std::size_t pick();
  /// How many of its own requests are at that engine.
  void set_in_flight(std::size_t engine, std::int64_t requests) { in_flight_[engine] = requests; }
  /// One of its own requests at that engine ended.
  void end(std::size_t engine) { --in_flight_[engine]; }

 private:
  [[nodiscard]] double score(std::size_t engine) const;

  Generation generation_;
  std::int64_t clients_;
  std::size_t start_;
  std::vector<Gauges> gauges_;
  std::vector<std::int64_t> in_flight_;
  std::vector<bool> open_;
};

/// SGLang's data-parallel controller (August 2026): the rank with the fewest requests, or with the
/// fewest tokens and then requests; its own picks are added to each rank's last report.
class DpBudget {
 public:
  explicit DpBudget(std::size_t ranks, bool by_tokens) : by_tokens_(by_tokens), loads_(ranks) {}

  /// Makes room for that many ranks; those there are stay.
  void reserve(std::size_t ranks) { loads_.resize(std::max(ranks, loads_.size())); }
  /// Whether a rank may be picked; at least one may.
  void set_open(std::size_t rank, bool open) { loads_[rank].open = open; }

  /// A rank's report. One with the timestamp of its last report is skipped.
  void report(std::size_t rank, double timestamp, std::int64_t requests, std::int64_t tokens);
  /// The rank for a request of about so many tokens; the lowest of equals.
  std::size_t pick(std::int64_t tokens);

 private:
  struct Load {
    double timestamp = -1.0;
    std::int64_t requests = 0;
    std::int64_t tokens = 0;
    bool open = true;
  };
  bool by_tokens_;
  std::vector<Load> loads_;
};

}  // namespace ridgeline::routing
