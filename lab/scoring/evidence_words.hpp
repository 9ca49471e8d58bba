#pragma once

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/scores.hpp"

/// How well the model does on collections of measured runs, beyond what `validate` scores: which
/// deployment its predictions pick, what each of its elements is worth, and how it does on what its
/// constants have not seen.
namespace ridgeline::scoring {

using namespace evidence::validate;  // NOLINT(google-build-using-namespace)

}  // namespace ridgeline::scoring
