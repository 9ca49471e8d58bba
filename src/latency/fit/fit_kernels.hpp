#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "latency/fit/operators.hpp"
#include "latency/fit/samples.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::fit {

/// Relative errors |predicted / measured - 1|.
struct RelativeErrors {
  double median = 0.0;
  double p90 = 0.0;
};

/// The constants of one operator on one GPU, or of one for all of them.
struct OperatorFit {
  const Operator* of = nullptr;
  const Form* form = nullptr;
  std::string gpu;  ///< A catalogue name, or "generic".
  std::string architecture;
  std::vector<std::string> files;  ///< That it was fitted on.
  std::size_t rows = 0;            ///< Selected.
  std::vector<double> values;      ///< Values of the form's constants, rounded as they are written.
  RelativeErrors in_sample;
  /// Errors of what the GPU would get without a column (or, as asked, of each quarter of its shapes
  /// under constants fitted on the other three): the constants of another GPU of its
  /// architecture (both on tables of one vLLM version, where there are any), or else of a common
  /// set fitted on the others.
  std::optional<RelativeErrors> left_out;
};

/// What `left_out` is of.
enum class LeaveOut : std::uint8_t { kGpus, kShapes };

struct FitOptions {
  /// Most rows of a GPU that a search looks at; errors are of all rows. 0: all.
  std::size_t search_rows = 3000;
  bool leave_one_out = true;
  LeaveOut leave_out = LeaveOut::kGpus;
  /// (operator's key, version) and ("", version) for all others: the newest table that is not above
  /// it is taken, where there is one.
  std::vector<std::pair<std::string, std::string>> versions = {};
  int threads = 1;  ///< Does not influence the result.
};

/// Fits every operator on every GPU, on the newest of its tables (or FitOptions::versions) that has
/// rows enough, twice as many as constants, and where
/// several have, one set for all of them and one without each. Ordered by operator, then by GPU,
/// the common set ("generic") last.
[[nodiscard]] std::vector<OperatorFit> fit_kernels(const std::vector<SampleTable>& tables,
                                                   const FitOptions& options);

}  // namespace ridgeline::latency::fit
