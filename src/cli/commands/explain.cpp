#include <utility>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "report/result_json.hpp"
#include "report/results/explanation.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::cli {

ExitCode explain_command(Words words) {
  const Opening opening = with_manner_flags(
      {.usage = "explain [scenario.yaml] [flags]",
       .about = "Resolves a scenario without running it: what fits, what holds, and why.",
       .flags = scenario_flags(ScenarioPart::kWhole),
       .formats = {"table", "json"}},
      "table|json");
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  auto loaded = load(arguments, scenario::Purpose::kLook);
  if (!loaded) {
    return give_up(loaded.error(), manners);
  }
  const auto resolved = scenario::resolve(std::move(*loaded));
  if (!resolved) {
    return give_up(resolved.error(), manners);
  }
  const bool json = manners.format == "json";
  return put_out(json ? report::json_text(report::explanation_tree(*resolved))
                      : report::explanation_table(*resolved, text_style(manners.out)),
                 manners);
}

}  // namespace ridgeline::cli
