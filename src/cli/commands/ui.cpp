#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/loopback.hpp"
#include "cli/output_file.hpp"
#include "cli/ui_server.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "document/document.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "verbs/run/repeat.hpp"

namespace ridgeline::cli {
namespace {

constexpr std::string_view kUsualOutput = "ridgeline-ui.html";
/// What the page has where a link may stand.
constexpr std::string_view kNoLink = R"(data-link="")";

/// The page as `./dev page` leaves it: beside the program, or where an installation has it.
core::Result<std::string> find_page() {
  std::error_code error;
  const std::filesystem::path folder = folder_of_program();
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
  return verbs::settings_link(*resolved);
}

/// The page as it is served: the program answers it, and it may ask the program.
std::string served_page(std::string page) {
  constexpr std::string_view kInside = R"(data-backend="")";
  constexpr std::string_view kPolicy = "img-src data:";
  if (const std::size_t at = page.find(kInside); at != std::string::npos) {
    page.replace(at, kInside.size(), R"(data-backend="native")");
  }
  if (const std::size_t at = page.find(kPolicy); at != std::string::npos) {
    page.insert(at + kPolicy.size(), "; connect-src 'self'");
  }
  return page;
}

/// Where calls find their files: the folder named, else an empty one; it becomes the working
/// directory.
core::Result<std::filesystem::path> enter_root(const Arguments& arguments) {
  std::error_code error;
  std::filesystem::path root = arguments.value("root");
  if (root.empty()) {
    std::string name = (std::filesystem::temp_directory_path(error) / "ridgeline-XXXXXX").string();
    if (error || mkdtemp(name.data()) == nullptr) {
      return core::fail(
          core::Error{.field = "--listen", .message = "no folder for temporary files"});
    }
    root = name;
  }
  root = std::filesystem::canonical(root, error);
  if (!error) {
    std::filesystem::current_path(root, error);
  }
  if (error) {
    return core::fail(core::Error{
        .field = "--root",
        .message = fmt::format("\"{}\": {}", arguments.value("root"), error.message())});
  }
  return root;
}

ExitCode listen(const Arguments& arguments,
                std::string page,
                const std::string& link,
                const Manners& manners) {
  const auto port = listen_port(arguments);
  if (!port) {
    return give_up(port.error(), manners);
  }
  const auto root = enter_root(arguments);
  if (!root) {
    return give_up(root.error(), manners);
  }
  auto server =
      UiServer::open({.port = *port, .root = *root, .page = served_page(std::move(page))});
  if (!server) {
    return give_up(server.error(), manners);
  }
  const InterruptGuard guard;
  const ExitCode said =
      put_out(fmt::format("{}\nopen it in a browser of this machine; Ctrl-C ends it\n",
                          (*server)->url(link)),
              manners);
  if (said == ExitCode::kOk) {
    (*server)->run(InterruptGuard::flag());
  }
  if (!arguments.has("root")) {
    std::error_code error;
    std::filesystem::remove(*root, error);  // Nothing was written into it.
  }
  return said;
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
  const std::vector<FlagSpec> own = {
      output_flag(),
      {.name = "listen",
       .value = "PORT",
       .help = "Serves the page on 127.0.0.1, answered by this program, until Ctrl-C; 0: any port"},
      {.name = "root", .value = "DIR", .help = "Files that the served page may name lie below it"}};
  opening.flags.insert(opening.flags.end(), own.begin(), own.end());
  opening.flags.insert(opening.flags.end(), manner.begin(), manner.end());
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  const std::vector<std::string> outputs = arguments.values("output");
  const bool says_something =
      !arguments.positionals.empty() || std::ranges::any_of(arguments.flags, [&](const auto& flag) {
        return std::ranges::find(own, flag.name, &FlagSpec::name) == own.end() &&
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
  if (arguments.has("listen")) {
    return listen(arguments, std::move(*page), *link, manners);
  }
  const std::string path = outputs.empty() ? std::string(kUsualOutput) : outputs.front();
  if (const auto written = write_page(path, std::move(*page), *link); !written) {
    return give_up(written.error(), manners);
  }
  return path == "-"
             ? ExitCode::kOk
             : put_out(fmt::format("{}: open it in a browser\n", core::escaped(path)), manners);
}

}  // namespace ridgeline::cli
