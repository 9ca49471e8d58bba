#include "cli/command_line.hpp"
#include "cli/program.hpp"

/// From the words of main() to the exit code. A C name that a shared library can show: the program
/// of the Python wheel is one call into the library beside it.
extern "C" [[gnu::visibility("default")]] int ridgeline_program(int argc, char** argv) {
  return ridgeline::cli::run_program(argc, argv, ridgeline::cli::run_command_line);
}

int main(int argc, char** argv) {
  return ridgeline_program(argc, argv);
}
