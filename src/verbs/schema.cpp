#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "report/palette.hpp"
#include "verbs/registry.hpp"
#include "verbs/schema_text.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

core::Result<Reply> schema(Request& request, Host& /*host*/) {
  const std::vector<std::string> names = request.take_texts("name", true);
  request.end();
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  const auto text = names.size() == 1 ? schema_text(names.front()) : std::nullopt;
  if (!text) {
    return core::fail(bad_word(
        request.is_words() ? "schema" : "name", names, schema_names(), "ridgeline schema result"));
  }
  return Reply{.views = {{"json", [text](const report::TextStyle&) { return *text; }}}};
}

}  // namespace

Verb schema_verb() {
  return {.name = "schema",
          .summary = "the JSON Schema of a result or a scenario",
          .usage = fmt::format("schema {}", fmt::join(schema_names(), "|")),
          .about =
              "Prints a JSON Schema: of a scenario document, of what is written, or of a line of "
              "our own traces.",
          .words = "name",
          .formats = {"json"},
          .run = schema};
}

}  // namespace ridgeline::verbs
