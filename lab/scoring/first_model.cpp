#include "lab/scoring/first_model.hpp"

#include <span>
#include <string>

#include "document/embedded_file.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::scoring {

std::span<const document::EmbeddedFile> constant_files();  // Generated.

namespace {

/// Tests read the file, so that it is sound.
const latency::kernel::Constants& first_constants() {
  static const latency::kernel::Constants kConstants = [] {
    const document::EmbeddedFile& file = constant_files().front();
    return latency::kernel::read_constants(file.text, std::string(file.name)).value();
  }();
  return kConstants;
}

}  // namespace

latency::StepTimeModelEntry first_model() {
  return {
      .name = "kernel-first",
      .summary = "kernel with its first published constants, frozen: the golden values hold for it",
      .uses = {},
      .make = [](const latency::ModelInputs& inputs) {
        return latency::kernel::make_kernel_model(inputs, first_constants());
      }};
}

}  // namespace ridgeline::scoring
