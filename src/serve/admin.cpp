#include "serve/admin.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "serve/emulator.hpp"
#include "serve/fault.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/http_parser.hpp"

namespace ridgeline::serve {
namespace {

std::string error_text(std::string_view message) {
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  json.begin_object().member("error", message).end_object();
  return json.text();
}

std::string text_of(const document::Node& node) {
  return node.is_string() ? node.as_string() : node.describe();
}

}  // namespace

void AdminRoutes::on_request(net::Connection& connection, net::HttpRequest request) {
  constexpr int kOk = 200;
  constexpr int kAccepted = 202;
  constexpr int kNotFound = 404;
  if (request.method == "GET" && request.path == "/state") {
    connection.respond(kOk, net::kJsonType, emulator_.state_json());
  } else if (request.method == "PUT" && request.path == "/faults") {
    put_faults(connection, request);
  } else if (request.method == "PUT" && request.path == "/drain") {
    emulator_.drain();
    connection.respond(kAccepted, net::kJsonType, R"({"draining":true})");
  } else {
    connection.respond(
        kNotFound, net::kJsonType, error_text("expected GET /state, PUT /faults or PUT /drain"));
  }
}

void AdminRoutes::put_faults(net::Connection& connection, const net::HttpRequest& request) {
  constexpr int kOk = 200;
  constexpr int kBadRequest = 400;
  const auto body = document::parse_json(request.body, "body");
  const document::Node* const list = body ? body->find("faults") : nullptr;
  std::string wrong = R"(expected {"faults": [{"kind": "error", "share": 0.01}, ...]})";
  std::vector<Fault> faults;
  bool is_good = list != nullptr && list->is_list();
  if (is_good) {
    for (const document::Node& item : list->items()) {
      std::vector<std::pair<std::string, std::string>> parts;
      if (item.is_map()) {
        for (const document::Node::Member& member : item.members()) {
          parts.emplace_back(member.key, text_of(member.value));
        }
      }
      const auto fault = read_fault(parts, wrong);
      is_good = is_good && fault.has_value();
      if (!fault) {
        break;
      }
      faults.push_back(*fault);
    }
  }
  if (!is_good) {
    connection.respond(kBadRequest, net::kJsonType, error_text(wrong));
    return;
  }
  emulator_.set_faults(std::move(faults));
  connection.respond(kOk, net::kJsonType, emulator_.state_json());
}

}  // namespace ridgeline::serve
