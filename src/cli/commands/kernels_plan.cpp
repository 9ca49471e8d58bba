#include <string>
#include <vector>

#include "cli/commands/kernels.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/exit_code.hpp"

namespace ridgeline::cli {

ExitCode kernels_plan(Words words) {
  std::vector<std::string> all(words.begin(), words.end());
  all.insert(all.end(), {"--what-to-measure", "--kernels-only"});
  return plan_command(all);
}

}  // namespace ridgeline::cli
