#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "core/result.hpp"
#include "observe/observation.hpp"
#include "observe/target.hpp"

namespace ridgeline::cli {

/// The flags of `observe` beside those of a scenario.
[[nodiscard]] std::vector<FlagSpec> observe_flags();

/// What they say.
struct ObserveWords {
  observe::Target target;
  bool allow_remote = false;
  bool fresh_connections = false;
  std::string api_key;
  std::string served_model;  ///< Empty: the first that the server names.
  std::string record;        ///< -o; empty: none.
  bool resume = false;
  std::optional<std::uint64_t> salt;
  observe::ObserveOptions options;
};
/// `arguments` loses the target, its first word, and these flags.
[[nodiscard]] core::Result<ObserveWords> read_observe_words(Arguments& arguments);

}  // namespace ridgeline::cli
