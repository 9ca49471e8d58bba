#pragma once

#include <filesystem>

namespace ridgeline::test {

/// The root of the checkout that the tests were built from.
std::filesystem::path source_dir();

/// The folder of measured data: RIDGELINE_SHARED_DIR of the environment, or the one beside the
/// checkout. May be absent: a test that needs it skips itself then.
std::filesystem::path shared_dir();

}  // namespace ridgeline::test
