#include "support/paths.hpp"

#include <cstdlib>
#include <filesystem>

namespace ridgeline::test {

std::filesystem::path source_dir() {
  return RIDGELINE_SOURCE_DIR;
}

std::filesystem::path shared_dir() {
  const char* const given = std::getenv("RIDGELINE_SHARED_DIR");  // NOLINT(concurrency-mt-unsafe)
  return given != nullptr ? given : RIDGELINE_SHARED_DIR;
}

}  // namespace ridgeline::test
