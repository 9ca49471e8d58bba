#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sweep/axes.hpp"

namespace ridgeline::sweep {

/// What a file of a sweep and its flags say.
struct SweepWords {
  std::optional<std::string> file = {};         ///< A scenario with `axes`, and `measure`.
  std::optional<document::Node> document = {};  ///< A scenario's document in place of a file.
  std::vector<scenario::Override> overrides = {};
  std::vector<std::string> axes = {};       ///< Flags `--axis KEY=V,V`.
  std::optional<std::string> measure = {};  ///< Flag `--measure`.
};

/// A point and what came of resolving it.
struct ResolvedPoint {
  std::string id;
  core::Result<scenario::Resolved> resolved;  ///< Or why the point cannot run.
  document::Node scenario;                    ///< The canonical one, which `id` stands for.
};

/// Many scenarios from one.
class Sweep {
 public:
  [[nodiscard]] const Axes& axes() const { return axes_; }
  [[nodiscard]] std::int64_t size() const { return axes_.size(); }
  /// "run" or another measure's name.
  [[nodiscard]] const std::string& measure() const { return measure_; }
  /// What the sweep is, in 32 hexadecimal digits: axes, points, scenario and measure.
  [[nodiscard]] std::string digest(const document::Node& estimator) const;
  /// What the sweep is, for people and for `sweep.json`.
  [[nodiscard]] document::Node description(const document::Node& estimator,
                                           std::string_view version) const;
  /// Reads and resolves a point; `estimator` are the settings of what is measured of it.
  [[nodiscard]] ResolvedPoint resolve(const Point& point, const document::Node& estimator) const;

 private:
  explicit Sweep(Axes axes) : axes_(std::move(axes)) {}
  friend core::Result<Sweep> read_sweep(const SweepWords& words);

  [[nodiscard]] core::Result<void> find_scenario();

  Axes axes_;
  std::string measure_ = "run";
  std::vector<scenario::Override> overrides_;
  document::Node scenario_;  ///< The first point that can be read, every default filled.
};

/// Reads a sweep: the keys of a scenario, `axes` and `measure`. Fails with all problems of the
/// axes, and with those of the first point where no point that was tried can be read.
[[nodiscard]] core::Result<Sweep> read_sweep(const SweepWords& words);

}  // namespace ridgeline::sweep
