#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/common.hpp"

namespace ridgeline::cli {

/// A verb, or a command of `kernels`, as help and completions show it.
struct VerbPage {
  std::string name;  ///< "run", "kernels fit"
  std::string summary;
  Opening opening;
};

/// Every verb of this version but `help`, with the commands of `kernels` after it.
[[nodiscard]] std::vector<VerbPage> verb_pages();

/// The words that a positional of the verb may be: of "list models|gpus" those two; none where it
/// is a file.
[[nodiscard]] std::vector<std::string> positional_words(const VerbPage& page);
/// The words that a flag's value may be; none where it is anything else.
[[nodiscard]] std::vector<std::string> value_words(const FlagSpec& flag);
/// Whether a flag's value is the name of a file or a folder.
[[nodiscard]] bool takes_file(const FlagSpec& flag);

}  // namespace ridgeline::cli
