// H6: are look-ups of the row below step functions?
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/result.hpp"
#include "lab/studies/held_out.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"
#include "latency/roofline/mfu_source.hpp"
#include "latency/roofline/table_mfu.hpp"

namespace ridgeline::studies {
namespace {

using latency::roofline::MfuSource;

/// MFU as the published sweeps were kept.
constexpr int kKeptDecimals = 6;
constexpr double kJump = 0.05;

struct SweepStatistics {
  std::int64_t points = 0;
  std::int64_t unique = 0;
  std::int64_t jumps5 = 0;
  std::int64_t jumps10 = 0;
  std::int64_t jumps20 = 0;
  double largest = 0.0;  ///< Between neighbours, over the greater.
  std::int64_t longest_flat = 1;

  [[nodiscard]] std::vector<double> cells() const {
    return {static_cast<double>(points),
            static_cast<double>(unique),
            static_cast<double>(jumps5),
            static_cast<double>(jumps10),
            static_cast<double>(jumps20),
            rounded(100.0 * largest, 1),
            static_cast<double>(longest_flat)};
  }
};

SweepStatistics statistics(const std::vector<double>& values) {
  SweepStatistics found;
  found.points = std::ssize(values);
  found.unique = std::ssize(std::set<double>(values.begin(), values.end()));
  std::int64_t flat = 1;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double before = values[i - 1];
    const double after = values[i];
    const double jump = std::abs(after - before) / std::max(after, before);
    found.jumps5 += jump >= kJump ? 1 : 0;
    found.jumps10 += jump >= 2.0 * kJump ? 1 : 0;
    found.jumps20 += jump >= 4.0 * kJump ? 1 : 0;
    found.largest = std::max(found.largest, jump);
    flat = after == before ? flat + 1 : 1;
    found.longest_flat = std::max(found.longest_flat, flat);
  }
  return found;
}

struct Sweep {
  std::string name;
  std::int64_t first;
  std::int64_t last;
  std::int64_t step;
  std::function<double(const MfuSource&, std::int64_t)> mfu;
};

std::vector<Sweep> sweeps() {
  std::vector<Sweep> all;
  for (const std::int64_t n : {6144, 11008}) {
    constexpr std::int64_t kInner = 4096;
    all.push_back({fmt::format("GEMM (K={}, N={})", kInner, n),
                   1,
                   512,
                   1,
                   [n](const MfuSource& source, std::int64_t m) {
                     return source.gemm(source.gemm_target(kInner, n), m, false).mfu;
                   }});
  }
  for (const std::int64_t context : {1024, 4096, 8192}) {
    all.push_back({fmt::format("Decode Attn (KV={})", context),
                   1,
                   256,
                   1,
                   [context](const MfuSource& source, std::int64_t batch) {
                     return source.decode(batch, context).mfu;
                   }});
  }
  for (const std::int64_t batch : {1, 32, 128}) {
    all.push_back({fmt::format("Decode Attn (BS={}, KV sweep)", batch),
                   128,
                   16384,
                   64,
                   [batch](const MfuSource& source, std::int64_t context) {
                     return source.decode(batch, context).mfu;
                   }});
  }
  all.push_back(
      {"Prefill Attn (seq sweep)",
       512,
       32768,
       64,
       [](const MfuSource& source, std::int64_t length) { return source.prefill(length).mfu; }});
  return all;
}

SweepStatistics run_sweep(const Sweep& sweep, const Subject& subject) {
  const MfuSource& source = subject.roofline()->table_formulas()->source();
  std::vector<double> values;
  for (std::int64_t at = sweep.first; at <= sweep.last; at += sweep.step) {
    values.push_back(rounded(sweep.mfu(source, at), kKeptDecimals));
  }
  return statistics(values);
}

core::Result<Outcome> run_h6(const Lab& lab) {
  const auto floor = lab.subject("floor");
  const auto interp = lab.subject("interp");
  const auto tables = lab.tables();
  if (!floor || !interp || !tables) {
    return core::fail(!floor ? floor.error() : !interp ? interp.error() : tables.error());
  }
  Outcome out;
  out.tables = {{"h6_floor_sweeps", {}}};
  std::int64_t points = 0;
  std::int64_t unique = 0;
  std::int64_t jumps = 0;
  std::int64_t remaining = 0;
  double largest = 0.0;
  for (const Sweep& sweep : sweeps()) {
    const SweepStatistics below = run_sweep(sweep, **floor);
    const SweepStatistics between = run_sweep(sweep, **interp);
    points += below.points;
    unique += below.unique;
    jumps += below.jumps5;
    remaining += between.jumps5;
    largest = std::max(largest, below.largest);
    out.tables[0].rows.push_back(
        row("sweep",
            sweep.name,
            "columns",
            cell("points, unique, disc5, disc10, disc20, max_disc_pct, longest_flat"),
            "computed_floor",
            below.cells(),
            "computed_interp",
            between.cells()));
  }
  out.tables.push_back(held_out_table(*tables));
  out.by_rule = jumps > 0 ? Verdict::kConfirmed : Verdict::kRefuted;
  out.because =
      fmt::format("{} points have {} values, {} jumps of 5 % or more, the largest {:.1f} %",
                  points,
                  unique,
                  jumps,
                  100.0 * largest);
  out.finding = fmt::format(
      "Confirmed, and interpolation is not all: {} jumps of 5 % remain, where rows that read 0 "
      "are replaced and where the grid has holes. Interpolate latencies, which have neither.",
      remaining);
  return out;
}

}  // namespace

Study study_h6() {
  return {
      .id = "h6",
      .title = "Look-ups of the row below",
      .claim = "MFU looked up by the row below is a step function, with jumps of more than 5 %.",
      .arms = {{.name = "floor",
                .preset = "v2-h33",
                .settings = {constants("h100-test")},
                .lookup = "floor"},
               {.name = "interp",
                .preset = "v2-h33",
                .settings = {constants("h100-test")},
                .lookup = "interp"},
               {.name = "log",
                .preset = "v2-h33",
                .settings = {constants("h100-test"), setting("lookup", "log")}}},
      .held_fixed = "the tables; nine sweeps of 3,062 points through them",
      .refuted_if = "no sweep has two neighbours that differ by 5 %",
      .controls =
          "the same sweeps between rows; rows held out and looked up among the others, against "
          "their measured latency",
      .reference = Reference::kArithmetic,
      .published = Verdict::kConfirmed,
      .scope = "the look-ups alone",
      .not_tested = "what a jump does to a latency",
      .run = run_h6};
}

}  // namespace ridgeline::studies
