#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/embedded_file.hpp"
#include "engine/options.hpp"

namespace ridgeline::engine {

/// data/serving/*, compiled in.
std::span<const document::EmbeddedFile> serving_files();

/// One fitted number: its meaning, unit, interval and source stand in the data file.
struct ServingConstant {
  std::string name;
  std::string meaning;
  std::string unit;  ///< "us".
  double value = 0.0;
  double lowest = 0.0;  ///< Ends of the constant's interval.
  double highest = 0.0;
  std::string source;
};

/// What a server spends around the kernels.
struct ServingConstants {
  RequestPath path;
  HostTime host;
  core::Duration per_rank;             ///< Host time per step and rank after the first.
  std::vector<ServingConstant> table;  ///< All of them, in the file's order.
};

/// Reads such a file; `file` names it in errors. Every constant must be there, with a value inside
/// its interval, and none besides.
[[nodiscard]] core::Result<ServingConstants> read_serving_constants(std::string_view text,
                                                                    const std::string& file);
/// Those compiled in.
[[nodiscard]] const ServingConstants& serving_constants();

}  // namespace ridgeline::engine
