#pragma once

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/evidence_limits.hpp"
#include "evidence/validate/loose_node.hpp"

/// Readers of records of measured runs. They fill in the product's words for a measured run.
namespace ridgeline::records {

using namespace evidence::validate;  // NOLINT(google-build-using-namespace)

}  // namespace ridgeline::records
