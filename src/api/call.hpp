#pragma once

#include <string>
#include <string_view>

#include "ridgeline/ridgeline.hpp"

namespace ridgeline::api {

/// What a call answers: the exit code of the command line, and the JSON of its standard output or
/// of its errors.
struct Reply {
  int code = 0;
  std::string json;
};

/// One verb with its keys and its scenario as a JSON document (include/ridgeline.h). A fault of
/// ours is a reply too.
[[nodiscard]] Reply call(std::string_view verb, std::string_view json, const Hooks& hooks);

}  // namespace ridgeline::api
