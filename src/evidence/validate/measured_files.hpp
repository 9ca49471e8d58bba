#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "evidence/validate/evidence.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::evidence::validate {

/// The records of all files, in order, with what is doubtful about each under these what-ifs. Fails
/// where there is no file, one is given twice, or one cannot be read.
[[nodiscard]] core::Result<std::vector<Evidence>> read_files(
    const std::vector<std::string>& paths, const std::vector<scenario::Override>& overrides);

}  // namespace ridgeline::evidence::validate
