#include "api/call.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/base_scenario.hpp"
#include "api/errors.hpp"
#include "api/guard.hpp"
#include "api/host.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_json.hpp"
#include "verbs/request.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::api {
namespace {

core::Result<document::Node> read_call(std::string_view json) {
  auto parsed = document::parse_json(json.empty() ? "{}" : json, "");
  if (!parsed) {
    return parsed;
  }
  if (!parsed->is_map()) {
    return core::fail(
        core::Error{.message = fmt::format("found {}, expected a JSON object", parsed->describe()),
                    .where = parsed->where()});
  }
  return over_base(*parsed);
}

core::Error no_such_verb(std::string_view name) {
  std::vector<std::string> names;
  for (const verbs::Verb& known : verbs::verbs()) {
    if (known.run != nullptr) {
      names.push_back(known.name);
    }
  }
  return {
      .field = "verb",
      .message = fmt::format("found \"{}\", expected one of: {}", name, fmt::join(names, ", "))};
}

}  // namespace

Answer answer_of(verbs::Reply reply, std::shared_ptr<const KeptTables> tables) {
  const bool is_empty = !reply.tree && reply.views.empty();
  std::string json = is_empty ? document::json_text(errors_tree(reply.errors))
                              : reply.text("json", {}).value_or("{}");
  const int code = reply.code;
  return {.code = code,
          .json = std::move(json),
          .reply = std::move(reply),
          .tables = std::move(tables)};
}

Answer answer_to(std::string_view json,
                 const std::function<core::Result<Answer>(verbs::Request&)>& work) {
  auto answer = guarded_result([&]() -> core::Result<Answer> {
    const auto document = read_call(json);
    if (!document) {
      return core::fail(document.error());
    }
    verbs::Request request(*document);
    return work(request);
  });
  return answer ? std::move(*answer)
                : Answer{.code = verbs::exit_code(answer.error()),
                         .json = document::json_text(errors_tree(answer.error()))};
}

Answer call(std::string_view verb,
            std::string_view json,
            const Hooks& hooks,
            const rl_hooks* policies) {
  const verbs::Verb* const found = verbs::find_verb(verb);
  if (found == nullptr || found->run == nullptr) {
    return answer_to("", [&](verbs::Request&) -> core::Result<Answer> {
      return core::fail(no_such_verb(verb));
    });
  }
  return answer_to(json, [&](verbs::Request& request) -> core::Result<Answer> {
    CallHost host(hooks, policies);
    auto reply = found->run(request, host);
    if (!reply) {
      return core::fail(std::move(reply).error());
    }
    return answer_of(std::move(*reply), host.tables());
  });
}

}  // namespace ridgeline::api
