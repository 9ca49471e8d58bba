#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::plan {

/// Requests of one kind, which a mix of GPUs may serve apart from others.
struct RequestClass {
  std::string name;
  document::Node workload;  ///< Section `workload` of a scenario.
};

/// Reads a block `mix`: {NAME: {request_rate: 4, input_len: 500 ...} ...}, each laid over `common`
/// (section `workload` of the plan; null: none). Every class has a rate of its own and is
/// generated; problems are noted.
[[nodiscard]] std::vector<RequestClass> read_classes(const document::Node& node,
                                                     const document::Node* common,
                                                     core::Errors& errors);

}  // namespace ridgeline::plan
