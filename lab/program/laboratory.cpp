#include "lab/program/laboratory.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/command_line.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "evidence/validate/record_reader.hpp"
#include "lab/pages/records.hpp"
#include "lab/records/experiment_records.hpp"
#include "lab/scoring/first_model.hpp"
#include "lab/studies/measured_arms.hpp"
#include "latency/step_time_model.hpp"
#include "verbs/validate_view.hpp"

namespace ridgeline::laboratory {
namespace {

ExitCode study(Words words) {
  studies::ArmPredictions predictions;
  return study_command(words, predictions);
}

struct LaboratoryVerb {
  std::string_view name;
  std::string_view summary;
  ExitCode (*run)(Words words);
};
constexpr auto kVerbs = std::to_array<LaboratoryVerb>({
    {"study", "the original documents and published studies, run again: list, run ID, all", study},
    {"conform", "compare with decisions recorded from vLLM and others", conform_command},
    {"records",
     "compare with collections of measured runs: rankings, ablations, what is left out",
     records_command},
});

std::string first_page() {
  std::string text =
      "ridgeline-lab: what the simulator is held against: published studies, recorded decisions,\n"
      "collections of measured runs\n\n";
  for (const LaboratoryVerb& verb : kVerbs) {
    text += fmt::format("  {:<11} {}\n", verb.name, verb.summary);
  }
  return text +
         "\nEvery verb of `ridgeline` works here too; `validate` and `calibrate` then read the\n"
         "collections' records. `ridgeline-lab VERB --help` shows a verb's flags.\n";
}

}  // namespace

ExitCode run_words(Words words) {
  evidence::validate::use_record_reader(records::make_collection_reader);
  latency::use_step_time_model(scoring::first_model());
  verbs::add_to_validations(report::records_sections);
  if (words.empty() || words.front() == "--help" || words.front() == "-h") {
    return put_out(first_page(), default_manners());
  }
  const auto* const verb = std::ranges::find(kVerbs, words.front(), &LaboratoryVerb::name);
  return verb == kVerbs.end() ? run_command_line(words) : verb->run(words.subspan(1));
}

}  // namespace ridgeline::laboratory
