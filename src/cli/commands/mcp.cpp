#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/loopback.hpp"
#include "cli/mcp_server.hpp"
#include "cli/mcp_session.hpp"
#include "core/result.hpp"

namespace ridgeline::cli {

namespace {

ExitCode listen(const Arguments& arguments,
                const std::filesystem::path& root,
                const Manners& manners) {
  const auto port = listen_port(arguments);
  if (!port) {
    return give_up(port.error(), manners);
  }
  auto server = McpServer::open(*port, root);
  if (!server) {
    return give_up(server.error(), manners);
  }
  const InterruptGuard guard;
  const ExitCode said = put_out((*server)->url() + "\n", manners);
  if (said == ExitCode::kOk) {
    (*server)->run(InterruptGuard::flag());
  }
  return said;
}

}  // namespace

ExitCode mcp_command(Words words) {
  Opening opening{
      .usage = "mcp [--listen PORT] [--root DIR]",
      .about =
          "Serves the verbs as tools to an agent, by the Model Context Protocol on standard input "
          "and output.\nA client starts it: {\"command\": \"ridgeline\", \"args\": [\"mcp\"]}. It "
          "ends with its input.",
      .flags = {{.name = "listen",
                 .value = "PORT",
                 .help = "Serves streamable HTTP on 127.0.0.1 instead, until Ctrl-C; 0: any port"},
                {.name = "root",
                 .value = "DIR",
                 .help = "Files that calls name lie below it; the working directory by default"}},
      .formats = {"table"}};
  for (auto& flag : manner_flags("table")) {
    opening.flags.push_back(std::move(flag));
  }
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  if (const auto none = no_positionals(arguments); !none) {
    return give_up(none.error(), manners);
  }
  std::error_code error;
  const std::filesystem::path root =
      std::filesystem::canonical(arguments.has("root") ? arguments.value("root") : ".", error);
  if (!error) {
    std::filesystem::current_path(root, error);
  }
  if (error) {
    return give_up(
        {{.field = "--root",
          .message = fmt::format("\"{}\": {}", arguments.value("root"), error.message())}},
        manners);
  }
  if (arguments.has("listen")) {
    return listen(arguments, root, manners);
  }
  McpSession session(root, [](const McpSession::Message& message) {
    if (!message.line.empty()) {
      std::cout << message.line << '\n' << std::flush;
    }
  });
  for (std::string line; std::getline(std::cin, line);) {
    if (!line.empty()) {
      session.receive(line);
    }
  }
  session.finish();
  return ExitCode::kOk;
}

}  // namespace ridgeline::cli
