// tl::expected copies where it should move when exceptions are off; C++23's own does not.
#pragma once
#include <expected>

namespace tl {

using std::expected;
using std::unexpected;

}  // namespace tl
