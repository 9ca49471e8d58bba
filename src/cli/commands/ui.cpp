#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/output_file.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "report/results/repeat.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::cli {
namespace {

constexpr std::string_view kUsualOutput = "ridgeline-ui.html";
/// What the page has where a link may stand.
constexpr std::string_view kNoLink = R"(data-link="")";

/// The page as `./dev page` leaves it: beside the program, or where an installation has it.
core::Result<std::string> find_page() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path folder = program.parent_path();
  for (const auto& place : {folder / "ui.html", folder / "../share/ridgeline/ui.html"}) {
    if (std::filesystem::exists(place, error)) {
      return document::read_file(place.string());
    }
  }
  return core::fail(core::ErrorCode::kUsage,
                    "this program was built without its page: ./dev page, in a checkout of the "
                    "sources, builds it");
}

/// The link of what the words say; empty where they say nothing.
core::Result<std::string> stated_link(const Arguments& arguments, bool says_something) {
  if (!says_something) {
    return std::string();
  }
  auto loaded = load(arguments, scenario::Purpose::kRun);
  if (!loaded) {
    return core::fail(loaded.error());
  }
  const auto resolved = scenario::resolve(std::move(*loaded));
  if (!resolved) {
    return core::fail(resolved.error());
  }
  return report::settings_link(*resolved);
}

core::Result<void> write_page(const std::string& path, std::string page, const std::string& link) {
  const std::size_t at = page.find(kNoLink);
  if (at != std::string::npos) {
    page.insert(at + kNoLink.size() - 1, link);
  }
  auto output = OutputFile::open("--output", path);
  if (!output) {
    return core::fail(output.error());
  }
  output->stream() << page;
  return output->commit();
}

}  // namespace

ExitCode ui_command(Words words) {
  Opening opening{.usage = "ui [scenario.yaml] [flags]",
                  .about =
                      "Writes a page with the simulator inside, which opens with these settings: "
                      "sliders, pictures,\n"
                      "every option, and the command that gives the same run. It needs no server.",
                  .flags = scenario_flags(ScenarioPart::kWhole),
                  .formats = {"table"}};
  const std::vector<FlagSpec> manner = manner_flags("table");
  opening.flags.push_back(output_flag());
  opening.flags.insert(opening.flags.end(), manner.begin(), manner.end());
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  const std::vector<std::string> outputs = arguments.values("output");
  const bool says_something =
      !arguments.positionals.empty() || std::ranges::any_of(arguments.flags, [&](const auto& flag) {
        return flag.name != output_flag().name &&
               std::ranges::find(manner, flag.name, &FlagSpec::name) == manner.end();
      });
  auto page = find_page();
  if (!page) {
    return give_up(page.error(), manners);
  }
  const auto link = stated_link(arguments, says_something);
  if (!link) {
    return give_up(link.error(), manners);
  }
  const std::string path = outputs.empty() ? std::string(kUsualOutput) : outputs.front();
  if (const auto written = write_page(path, std::move(*page), *link); !written) {
    return give_up(written.error(), manners);
  }
  return path == "-" ? ExitCode::kOk
                     : put_out(fmt::format("{}: open it in a browser\n", path), manners);
}

}  // namespace ridgeline::cli
