#include "cli/laboratory.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "core/result.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/record_reader.hpp"

namespace ridgeline::cli {
namespace {

constexpr std::string_view kLaboratory = "ridgeline-lab";
constexpr auto kLaboratoryVerbs = std::to_array<std::string_view>({"study", "conform", "records"});

}  // namespace

bool is_laboratorys(std::string_view word) {
  return std::ranges::find(kLaboratoryVerbs, word) != kLaboratoryVerbs.end();
}

bool needs_laboratory(const std::vector<evidence::validate::Evidence>& records) {
  return std::ranges::find(records,
                           evidence::validate::kNeedsLaboratory,
                           &evidence::validate::Evidence::problem) != records.end();
}

ExitCode run_laboratory(std::string_view verb, std::span<const std::string> words) {
  const std::string program = folder_of_program() / kLaboratory;
  std::vector<std::string> kept = {program, std::string(verb)};
  kept.insert(kept.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : kept) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  print_errors({{.message = fmt::format(
                     "'{}' needs {}, which does not stand beside this program", verb, kLaboratory),
                 .where = {.file = "command line"},
                 .hint = "./dev lab, in a checkout of the sources, builds it"}},
               default_manners().err);
  return ExitCode::kUsage;
}

}  // namespace ridgeline::cli
