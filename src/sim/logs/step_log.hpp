#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>

#include "core/result.hpp"
#include "document/document.hpp"
#include "domain/step.hpp"
#include "sim/step_watch.hpp"
#include "workload/traces/reading/line_reader.hpp"

namespace ridgeline::sim {

/// A listener that writes one JSON object per line and segment (`run --steps-out`):
///
///   step, steps, start_s, phase, num_decodes, decode_context, prefills [[past, new], ...],
///   busy_us, cpu_us, bottleneck, time_by_bottleneck, flops, bytes, weight_bytes,
///   kv_bytes, lookups, misses, distance, parts [{operator, phase, shape, calls, us, bottleneck,
///   flops, bytes, distance, compute_us, memory_us, weight_bytes, kv_bytes, mfu, row, source},
///   ...], hidden [the losing sides of maxima, likewise], rounding_us
///
/// `bottleneck` is, by the kernel model, what decides a part's time, by rooflines the side on which
/// its work lies (FLOPs per byte);
/// `compute_us` and `memory_us` are both sides of the maximum that was taken, where it is made of
/// two. `source` names what priced it: a table's file, of which `row` is the nearest line and `mfu`
/// what was found; the kernel's constants.
///
/// Times are of all steps of the segment together, and the parts and rounding_us sum to busy_us.
/// `lookups` are parts that a table priced, `misses` those of them whose row is not the shape's
/// own, `distance` the farthest of these.
[[nodiscard]] std::unique_ptr<StepListener> make_step_log(std::ostream& out);

/// A listener that says a line for each look-up in a table, and hands segments on to `next`, which
/// may be none (`run --debug=lookups`).
[[nodiscard]] std::unique_ptr<StepListener> make_lookup_log(
    std::function<void(const std::string& line)> say, std::unique_ptr<StepListener> next);

/// Where the time of a step log went.
struct StepSummary {
  struct Share {
    std::int64_t steps = 0;
    double us = 0.0;
  };
  std::int64_t lines = 0;
  Share all;
  std::map<std::string, Share> by_bottleneck;  ///< Steps: those that it holds most of.
  std::map<std::string, Share> by_phase;       ///< "prefill", "decode", "mixed"
  std::map<std::string, Share> by_operator;    ///< "qkv_proj", "attention (decode)"
  /// By phase, then by what held its parts up; steps: those that it holds most of.
  std::map<std::string, std::map<std::string, Share>> bottleneck_by_phase;
  /// Time by phase, operator and what holds it up: "decode;qkv_proj;memory".
  std::map<std::string, double> us_by_stack;
  /// From a segment held up by memory to the next held up by compute, and back; segments held up
  /// by something else stand between without counting.
  std::int64_t memory_to_compute = 0;
  std::int64_t compute_to_memory = 0;
  std::int64_t lookups = 0;  ///< One per part and segment that a table priced.
  std::int64_t misses = 0;   ///< Look-ups outside the table.
  double farthest = 0.0;
};
/// Reads a log line by line; a malformed line, or one beyond the reader's limit, is an error that
/// names it. `file` stands for the log in errors.
[[nodiscard]] core::Result<StepSummary> summarise_step_log(workload::LineReader lines,
                                                           const std::string& file);
[[nodiscard]] document::Node summary_tree(const StepSummary& summary);
/// A line per stack, "phase;operator;bottleneck microseconds", as flame graphs take them; whole
/// microseconds, and stacks of none are left out.
[[nodiscard]] std::string folded_stacks(const StepSummary& summary);

}  // namespace ridgeline::sim
