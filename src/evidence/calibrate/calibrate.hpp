#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"
#include "latency/accuracy/bands.hpp"
#include "scenario/scenario.hpp"

/// The few times of a server that differ from machine to machine (host, network, API server),
/// fitted to a user's own benchmark results. Kernels are not touched: they are physics.
namespace ridgeline::evidence::calibrate {

/// A constant that can be fitted: an option of the scenario's `serving` section, in microseconds or
/// a factor.
struct Parameter {
  std::string name;     ///< "delivery_time"
  double lowest = 0.0;  ///< Bounds of the fit.
  double highest = 0.0;
  std::string seen_in;  ///< What tells it: "time to first token".
  /// For a cost of each of the "prompt tokens" or "sequences in flight": the constant that has the
  /// same effect on measurements in which their number does not vary.
  std::string each = {};
  std::string constant = {};
  bool is_factor = false;
  /// Fitted where it is asked for by name alone: it does what others do together.
  bool on_request = false;
  /// Where its fit begins; nothing: at the built-in value.
  std::optional<double> start = {};

  /// "412.500us", or "8.150" of a factor.
  [[nodiscard]] std::string text(double value) const;
};
[[nodiscard]] const std::vector<Parameter>& parameters();

struct FittedParameter {
  Parameter parameter;
  double before = 0.0;
  double value = 0.0;
  /// 90 % interval, by bootstrap over the measurements; one record has none.
  std::optional<double> lowest = {};
  std::optional<double> highest = {};
  bool at_bound = false;
};

/// A constant that the measurements do not tell, and why.
struct LeftOut {
  std::string name;
  std::string reason;
  bool for_lack_of_figures = false;  ///< It could be fitted in place of another.
};

/// A record that a fit does not use.
struct UnusedRecord {
  std::string name;      ///< Its file, and its line or name there.
  std::string standing;  ///< As `validate` says it: "saturated".
  std::string reason;
};

/// Absolute errors in percent over all compared figures.
struct FitErrors {
  double median = 0.0;
  double mean = 0.0;
};

/// The server that a fit is of.
struct Server {
  std::vector<std::string> names;  ///< Networks and GPUs: "llama-3.1-8b on h100".
  /// What the records share of network, GPU and engine, as a scenario's document.
  document::Node settings;
  std::vector<std::string> differing;  ///< Paths of settings in which they differ.

  [[nodiscard]] std::string text() const;  ///< The names, by commas.
};

struct Calibration {
  std::vector<FittedParameter> fitted;
  std::vector<LeftOut> left_out;
  std::vector<UnusedRecord> unused;
  FitErrors before;
  FitErrors after;
  /// Each record predicted from a fit on the others, and the bands of that; one record has neither.
  std::optional<FitErrors> cross_validated;
  accuracy::OwnBands own;
  std::optional<double> left_of_tpot;  ///< Median error of the time per output token in `after`.
  /// As left(), of the same fit without the constants at their upper bounds; nothing where none is.
  std::optional<double> left_without_bounds;
  Server server;
  std::int64_t records = 0;
  std::int64_t figures = 0;

  /// What the constants leave, in percent: the larger of `left_of_tpot` and the median of all.
  [[nodiscard]] double left() const;
  /// left(), or what is left without the constants at their upper bounds where that is more: a
  /// time that no server has explains nothing.
  [[nodiscard]] double left_by_servers() const;
  /// Constants that ended at a bound of their range where they did not begin.
  [[nodiscard]] std::vector<FittedParameter> at_bounds() const;
  /// Whether the constants explain the measurements: left_by_servers() is at most kLeftByKernels,
  /// and no two constants are at their upper bounds.
  [[nodiscard]] bool kernels_match() const;
};

/// Errors that constants leave, in percent. More than the first is more than `validate` finds for
/// networks and GPUs that it knows (docs/accuracy.md), more than the second three times as much: no
/// constant explains a kernel that takes another time at every load.
inline constexpr double kLeftInDoubt = 5.0;
inline constexpr double kLeftByKernels = 15.0;

struct CalibrateOptions {
  /// Names of parameters; empty: all that the measurements tell. A named one that they do not tell
  /// is an error.
  std::vector<std::string> wanted;
  std::int64_t histories = 2;
  std::int64_t threads = 1;
  std::uint64_t seed = 0;
  std::vector<scenario::Override> overrides;  ///< The deployment, where the records lack it.
  /// Whether a fit that leaves much, or ends at a bound, is tried with other constants too.
  bool tries_others = true;
  const std::atomic<bool>* interrupt = nullptr;  ///< Set: the fit ends soon, and fails.
};

/// Gauss-Newton on the relative errors of the means of end-to-end time, time to first token and
/// time per output token, with simulations of equal seeds at every point. Fails when nothing can be
/// predicted, or when no constant (or none of those wanted) follows from the measurements. Of a
/// constant and a cost per token or sequence that the measurements do not tell apart, the constant
/// is fitted.
///
/// Where the figures are too few for all constants, which to leave out is decided by what the fits
/// leave: with other constants instead, and without those at their bounds.
[[nodiscard]] core::Result<Calibration> calibrate(const std::vector<validate::Evidence>& evidence,
                                                  const CalibrateOptions& options);

}  // namespace ridgeline::evidence::calibrate
