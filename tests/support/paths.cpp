#include "support/paths.hpp"

#include <filesystem>

namespace ridgeline::test {

std::filesystem::path source_dir() {
  return RIDGELINE_SOURCE_DIR;
}

std::filesystem::path shared_dir() {
  return RIDGELINE_SHARED_DIR;
}

}  // namespace ridgeline::test
