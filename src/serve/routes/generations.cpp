#include <utility>

#include "openai/request.hpp"
#include "serve/emulator.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/http_parser.hpp"
#include "serve/routes/routes.hpp"

namespace ridgeline::serve {
namespace {

template <class Parse>
void generate_as(Emulator& emulator,
                 net::Connection& connection,
                 const net::HttpRequest& request,
                 Parse parse) {
  if (!is_json(emulator, connection, request)) {
    return;
  }
  auto wanted = parse(request.body, emulator.settings().version, openai::RequestLimits{});
  if (!wanted) {
    emulator.answer_error(connection, wanted.error());
    return;
  }
  emulator.generate(connection, request, std::move(*wanted));
}

}  // namespace

void answer_completions(Emulator& emulator,
                        net::Connection& connection,
                        const net::HttpRequest& request) {
  generate_as(emulator, connection, request, openai::parse_completion);
}

void answer_chat(Emulator& emulator, net::Connection& connection, const net::HttpRequest& request) {
  generate_as(emulator, connection, request, openai::parse_chat);
}

}  // namespace ridgeline::serve
