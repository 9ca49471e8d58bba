#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "plan/operator_class.hpp"

namespace ridgeline::plan {

/// What is known of the error of an operator class on a GPU.
struct OperatorError {
  double sd = 0.0;       ///< Standard deviation of the logarithm of its time.
  bool measured = true;  ///< False: the GPU has no tables of its own, or the class has none.
};

/// By data/accuracy/operators.yaml: a GPU with tables of its own has the error of the fit to them;
/// another one that of its architecture's GPU when it was left out, or else the worst of the
/// operator. `precision` is "16bit", "8bit" or "4bit"; one without tables has those of 16 bits.
[[nodiscard]] OperatorError operator_error(OperatorClass kind,
                                           std::string_view precision,
                                           const hardware::GpuSpec& gpu);

/// Whether a text is such a file, for the tests of the one compiled in.
[[nodiscard]] core::Result<void> check_operator_errors(std::string_view text,
                                                       const std::string& file);

}  // namespace ridgeline::plan
