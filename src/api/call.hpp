#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/call_document.hpp"
#include "api/tables.hpp"
#include "core/result.hpp"
#include "report/figures/figure.hpp"
#include "ridgeline.h"
#include "ridgeline/ridgeline.hpp"

namespace ridgeline::api {

/// What a call answers: the exit code of the command line, the JSON of its standard output or of
/// its errors, and what else can be asked of the result. Functions may be empty.
struct Reply {
  int code = 0;
  std::string json;
  std::shared_ptr<const KeptTables> tables = {};
  std::string digest = {};
  std::function<std::vector<report::figures::Figure>()> figures = {};
  /// A picture that is no figure of a run: its name and its SVG.
  std::function<std::string()> picture = {};
  std::string picture_name = {};
  /// The result in a format; nothing for an unknown one.
  std::function<std::optional<std::string>(std::string_view format)> report = {};
};

/// The program that calls.
struct CallHost {
  const Hooks& hooks;
  const rl_hooks* policies = nullptr;  ///< With policies of the host; null where it has none.
};

/// The keys of a call, laid over its `base`; of an empty text none.
[[nodiscard]] core::Result<CallDocument> read_call(std::string_view json);

/// One verb with its keys and its scenario as a JSON document (include/ridgeline.h). A fault of
/// ours is a reply too.
[[nodiscard]] Reply call(std::string_view verb, std::string_view json, const CallHost& host);
[[nodiscard]] inline Reply call(std::string_view verb, std::string_view json, const Hooks& hooks) {
  return call(verb, json, CallHost{.hooks = hooks});
}

}  // namespace ridgeline::api
