#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "unit/latency/kernel_fixtures.hpp"

// The bottleneck of an operator names what to make faster: more of it, and the operator takes less
// time.
namespace ridgeline::latency::bottleneck {
namespace {

using fixtures::Step;

std::int64_t between(std::int64_t lowest, std::int64_t highest) {
  return *rc::gen::inRange<std::int64_t>(lowest, highest + 1);
}

const model::ModelSpec& network_of(const std::string& name) {
  static std::map<std::string, model::ModelSpec> read;
  const auto known = read.find(name);
  return known != read.end() ? known->second
                             : read.emplace(name, model::find_model(name).value()).first->second;
}

/// Prompts and decodes of every order of magnitude.
Step any_step() {
  const auto magnitude = [](std::int64_t digits) {
    return between(1, static_cast<std::int64_t>(std::pow(10.0, static_cast<double>(digits))));
  };
  Step step;
  step.num_decodes = between(0, 3) == 0 ? 0 : magnitude(between(0, 3));
  step.context = step.num_decodes * magnitude(between(0, 5));
  for (std::int64_t i = between(step.num_decodes == 0 ? 1 : 0, 3); i > 0; --i) {
    step.chunks.push_back({.past = core::Tokens(between(0, 1) * magnitude(5)),
                           .new_tokens = core::Tokens(magnitude(between(0, 4)))});
  }
  return step;
}

struct Deployment {
  std::string network;
  hardware::GpuSpec gpu;
  std::int64_t ranks = 1;

  /// Every operator's share of a step on `gpu`; nothing where the network is not cut so.
  [[nodiscard]] std::vector<OperatorTime> parts(const hardware::GpuSpec& on,
                                                const Step& step) const {
    const Execution execution{.sharding = {.tensor_parallel_size = ranks},
                              .cuda_graph_sizes = fixtures::graph_sizes()};
    const auto made = make_step_time_model(
        "kernel", {.network = network_of(network), .gpu = on, .execution = execution});
    return made ? (*made)->explain(step.batch()).parts : std::vector<OperatorTime>();
  }
};

/// Multiplies some of a GPU's facts.
using Change = void (*)(hardware::GpuSpec& gpu, double factor);
void bandwidth(hardware::GpuSpec& gpu, double factor) {
  gpu.mem_bandwidth = gpu.mem_bandwidth * factor;
}
void peaks(hardware::GpuSpec& gpu, double factor) {
  for (auto peak : {&hardware::GpuSpec::peak_bf16,
                    &hardware::GpuSpec::peak_fp8,
                    &hardware::GpuSpec::peak_int8,
                    &hardware::GpuSpec::peak_fp4}) {
    gpu.*peak = gpu.*peak * factor;
  }
}
void clock(hardware::GpuSpec& gpu, double factor) {
  gpu.clock_ghz *= factor;
}
void multiprocessors(hardware::GpuSpec& gpu, double factor) {
  gpu.num_sms = static_cast<std::int64_t>(static_cast<double>(gpu.num_sms) * factor);
}
void links(hardware::GpuSpec& gpu, double factor) {
  for (auto link : {&hardware::GpuSpec::link_bandwidth,
                    &hardware::GpuSpec::pcie_bandwidth,
                    &hardware::GpuSpec::network_bandwidth}) {
    gpu.*link = gpu.*link * factor;
  }
}

hardware::GpuSpec changed(hardware::GpuSpec gpu,
                          const std::vector<Change>& changes,
                          double factor) {
  for (const Change change : changes) {
    change(gpu, factor);
  }
  return gpu;
}

/// Either of two terms that are nearly equal may be named: a soft maximum, or what of a term no
/// resource shortens, tips the balance; or another tile becomes the best.
constexpr double kNearTie = 0.5;
/// A resource is changed by little, so that the same term decides before and after.
constexpr double kLittle = 1.01;
/// The share of a term by which it falls when its resource grows by so much.
constexpr double kShare = 1.0 - 1.0 / kLittle;

RC_GTEST_PROP(Bottleneck, NamesWhatMakesTheOperatorFaster, ()) {
  static const std::vector<std::string> networks = model::catalogue_names();
  static const std::vector<std::string> gpus = hardware::catalogue_names();
  const Deployment deployment{.network = *rc::gen::elementOf(networks),
                              .gpu = hardware::find_gpu(*rc::gen::elementOf(gpus)).value(),
                              .ranks = *rc::gen::element<std::int64_t>(1, 2, 4, 8)};
  const Step step = any_step();
  const std::vector<OperatorTime> parts = deployment.parts(deployment.gpu, step);
  RC_PRE(!parts.empty());
  const auto with = [&](const std::vector<Change>& changes, double factor) {
    return deployment.parts(changed(deployment.gpu, changes, factor), step);
  };
  const auto wider = with({bandwidth}, kLittle);
  const auto stronger = with({peaks}, kLittle);
  const auto higher = with({clock}, kLittle);
  const auto more = with({multiprocessors}, 2.0);
  const auto linked = with({links}, kLittle);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double time = parts[i].time.value();
    const double least = 1e-9 * time;
    const auto fall = [&](const std::vector<OperatorTime>& faster) {
      return time - faster[i].time.value();
    };
    const double memory = fall(wider);
    const double rest = time - (memory + fall(stronger)) / kShare;
    const double compute = std::max({fall(stronger), fall(higher), fall(more)});
    RC_LOG() << deployment.network << " on " << deployment.ranks << " " << deployment.gpu.name
             << ": " << parts[i].name << " (" << parts[i].phase << ", " << parts[i].shape << ") is "
             << domain::kBottleneckNames[static_cast<std::size_t>(parts[i].bottleneck)] << ", "
             << time << " s; falls with more of the bandwidth " << memory << ", the peaks "
             << fall(stronger) << ", the clock " << fall(higher) << ", the multiprocessors "
             << fall(more) << ", the links " << fall(linked) << "\n";
    switch (parts[i].bottleneck) {
      case domain::Bottleneck::kMemory:
        RC_ASSERT(memory > least);
        RC_ASSERT(memory >= kNearTie * fall(stronger) - least);
        break;
      case domain::Bottleneck::kCompute:
        RC_ASSERT(compute > least);
        RC_ASSERT(compute >= kNearTie * memory - least);
        break;
      case domain::Bottleneck::kNetwork:
        RC_ASSERT(fall(linked) > least);
        break;
      case domain::Bottleneck::kOverhead:
        // What neither shortens is more than what either does.
        RC_ASSERT(memory <= kShare * rest / kNearTie + least);
        RC_ASSERT(fall(stronger) <= kShare * rest / kNearTie + least);
        break;
    }
  }
}

}  // namespace
}  // namespace ridgeline::latency::bottleneck
