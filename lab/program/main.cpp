#include <string>
#include <vector>

#include "cli/program.hpp"
#include "lab/program/laboratory.hpp"

int main(int argc, char** argv) {
  return ridgeline::cli::run_program(argc, argv, ridgeline::laboratory::run_words);
}
