#include <exception>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <malloc.h>

#include "cli/command_line.hpp"
#include "cli/exit_code.hpp"
#include "cli/faults.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"

namespace {

/// Runs by the thousand (calibrate, plan, sweep) give back what they took: the allocator keeps that
/// for the next one, where it would hand it to the system and fetch it again page by page. The
/// values are those up to which glibc itself moves them.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kMmapThreshold = 32 << 20;
  constexpr int kTrimThreshold = 2 * kMmapThreshold;
  mallopt(M_MMAP_THRESHOLD, kMmapThreshold);  // NOLINT(concurrency-mt-unsafe): the only thread
  mallopt(M_TRIM_THRESHOLD, kTrimThreshold);  // NOLINT(concurrency-mt-unsafe): the only thread
#endif
}

}  // namespace

/// From the words of main() to the exit code. A C name that a shared library can show: the program
/// of the Python wheel is one call into the library beside it.
extern "C" [[gnu::visibility("default")]] int ridgeline_program(int argc, char** argv) {
  using ridgeline::cli::ExitCode;
  keep_freed_memory();
  ridgeline::cli::hold_standard_descriptors();
  ridgeline::cli::ignore_broken_pipes();
  ridgeline::cli::handle_faults();
  ridgeline::cli::handle_signals();
  try {
    const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    return static_cast<int>(ridgeline::cli::run_command_line(words));
  } catch (const std::exception& problem) {
    static_cast<void>(ridgeline::cli::write_all(
        STDERR_FILENO, fmt::format("error: a fault of this program: {}\n", problem.what())));
  }
  return static_cast<int>(ExitCode::kInternal);
}

int main(int argc, char** argv) {
  return ridgeline_program(argc, argv);
}
