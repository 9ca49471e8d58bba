#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/tables.hpp"
#include "core/result.hpp"
#include "ridgeline.h"
#include "ridgeline/ridgeline.hpp"
#include "verbs/request.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::api {

/// What a call answers: the exit code of the command line, the JSON of its standard output or of
/// its errors, what else can be asked of the answer, and the rows that were kept of a run.
struct Answer {
  int code = 0;
  std::string json;
  verbs::Reply reply = {};
  std::shared_ptr<const KeptTables> tables = {};
};
[[nodiscard]] Answer answer_of(verbs::Reply reply, std::shared_ptr<const KeptTables> tables = {});

/// Does what the document of a call asks for; a fault of ours is an answer too.
[[nodiscard]] Answer answer_to(std::string_view json,
                               const std::function<core::Result<Answer>(verbs::Request&)>& work);

/// One verb with its keys and its scenario as a JSON document, laid over its `base`
/// (include/ridgeline.h). `policies` may be null.
[[nodiscard]] Answer call(std::string_view verb,
                          std::string_view json,
                          const Hooks& hooks,
                          const rl_hooks* policies = nullptr);

}  // namespace ridgeline::api
