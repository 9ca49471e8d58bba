#include "cli/program.hpp"

#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <malloc.h>

#include "cli/exit_code.hpp"
#include "cli/faults.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"

namespace ridgeline::cli {
namespace {

/// Runs by the thousand (calibrate, plan, sweep) give back what they took: the allocator keeps that
/// for the next one, where it would hand it to the system and fetch it again page by page. The
/// values are those up to which glibc itself moves them. One run alone has no next one, and gets
/// its large tables as fresh pages, which cost nothing until they are written to.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kMmapThreshold = 32 << 20;
  constexpr int kTrimThreshold = 2 * kMmapThreshold;
  mallopt(M_MMAP_THRESHOLD, kMmapThreshold);  // NOLINT(concurrency-mt-unsafe): the only thread
  mallopt(M_TRIM_THRESHOLD, kTrimThreshold);  // NOLINT(concurrency-mt-unsafe): the only thread
#endif
}

}  // namespace

int run_program(int argc, char** argv, ExitCode (*run)(std::span<const std::string> words)) {
  const std::span arguments(argv, static_cast<std::size_t>(argc));
  if (argc < 2 || std::string_view(arguments[1]) != "run") {
    keep_freed_memory();
  }
  hold_standard_descriptors();
  ignore_broken_pipes();
  handle_faults();
  handle_signals();
  try {
    const std::vector<std::string> words(arguments.begin() + (argc > 0 ? 1 : 0), arguments.end());
    return static_cast<int>(run(words));
  } catch (const std::exception& problem) {
    static_cast<void>(write_all(
        STDERR_FILENO, fmt::format("error: a fault of this program: {}\n", problem.what())));
  }
  return static_cast<int>(ExitCode::kInternal);
}

}  // namespace ridgeline::cli
