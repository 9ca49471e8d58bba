#include "workload/generate/presets.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/reader.hpp"
#include "workload/generate/client.hpp"
#include "workload/generate/law.hpp"

namespace ridgeline::workload {
namespace {

constexpr std::string_view kInferenceSim =
    "inference-sim, defaults.yaml (normal lengths, mean/std/min/max)";
constexpr std::string_view kInferencePerf = "inference-perf, examples of workload catalogue";

ClientSpec lengths(Law input, Law output) {
  ClientSpec spec;
  spec.input = std::move(input);
  spec.output = std::move(output);
  return spec;
}

ClientSpec conversation(double shared, Law own, Law turns, Law think, Law input, Law output) {
  ClientSpec spec = lengths(std::move(input), std::move(output));
  spec.prefix = ClientPrefix{.group = "system", .length = Law::constant(shared)};
  spec.session = ClientSession{
      .turns = std::move(turns), .think = std::move(think), .own_prefix = std::move(own)};
  return spec;
}

constexpr auto kPresets = std::to_array<WorkloadPreset>({
    {"chatbot",
     "short questions, short answers: 256/256 tokens",
     kInferenceSim,
     [] { return lengths(Law::normal(256, 100, 2, 800), Law::normal(256, 100, 1, 1024)); }},
    {"contentgen",
     "a page in, a page out: 1024/1024 tokens",
     kInferenceSim,
     [] { return lengths(Law::normal(1024, 150, 10, 2048), Law::normal(1024, 200, 10, 2048)); }},
    {"summarization",
     "long texts, short answers: 4096/512 tokens",
     kInferenceSim,
     [] { return lengths(Law::normal(4096, 500, 100, 8192), Law::normal(512, 150, 10, 2048)); }},
    {"multidoc",
     "several documents at once: 10240/1536 tokens",
     kInferenceSim,
     [] {
       return lengths(Law::normal(10240, 1200, 500, 20480), Law::normal(1536, 300, 50, 4096));
     }},
    {"long-context",
     "prompts of 12 035 tokens with a long tail, answers of 343",
     "Mooncake, conversation trace (FAST 2025): mean and standard deviation of its lengths",
     [] {
       return lengths(Law::lognormal(12035, 15800, 1, 131072), Law::lognormal(343, 250, 1, 4096));
     }},
    {"chatsweep",
     "chat with a fixed answer of 215 tokens; prompts as in Azure's conversation trace",
     "Azure LLM inference trace 2023, conversation (mean 1155, std 1109); output of the sweep",
     [] { return lengths(Law::lognormal(1155, 1109, 2, 14050), Law::constant(215)); }},
    {"codesweep",
     "code completion with a fixed answer of 28 tokens and prompts of 2 048",
     "Splitwise (ISCA 2024), Azure's coding service: median prompt near 1 500, mean near 2 048; "
     "output of the sweep",
     [] { return lengths(Law::lognormal(2048, 1970, 3, 7437), Law::constant(28)); }},
    {"code",
     "an assistant in an editor: a shared system prompt, much of the repository, many turns",
     kInferencePerf,
     [] {
       return conversation(3000,
                           Law::lognormal(160000, 233600, 10000, 990000),
                           Law::lognormal(540, 48600, 1, 3000),
                           Law::lognormal(15, 55, 1, 100),
                           Law::lognormal(1500, 1200, 100, 10000),
                           Law::lognormal(425, 825, 50, 10000));
     }},
    {"rag",
     "retrieved documents behind a shared prompt, one turn",
     kInferencePerf,
     [] {
       ClientSpec spec =
           lengths(Law::normal(15000, 22000, 1000, 80000), Law::normal(500, 300, 50, 2000));
       spec.prefix = ClientPrefix{.group = "system", .length = Law::constant(500)};
       return spec;
     }},
    {"agentic",
     "deep research: tools between turns, a context that grows",
     kInferencePerf,
     [] {
       return conversation(2000,
                           Law::lognormal(45000, 35000, 2000, 150000),
                           Law::normal(15, 8.5, 2, 50),
                           Law::normal(25, 12, 5, 60),
                           Law::lognormal(3000, 2500, 500, 15000),
                           Law::normal(300, 850, 50, 4000));
     }},
    {"coding-agents",
     "coding sessions: 215 000 tokens in, 98 % of them known",
     "semianalysisai/cc-traces-weka-062126, the statistics of its card (mean input 218 922, output "
     "1 077, median new tokens 1 728, gaps)",
     [] {
       // Contexts are never cut, as those of the recorded sessions are: fewer turns instead.
       return conversation(16000,
                           Law::lognormal(92000, 70000, 1000, 600000),
                           Law::lognormal(60, 45, 20, 600),
                           Law::lognormal(13.2, 44, 0.05, 3600),
                           Law::lognormal(1650, 2600, 16, 200000),
                           Law::lognormal(1077, 2690, 1, 64000));
     }},
    {"reasoning",
     "questions that are thought over: 1 000 tokens in, 8 000 out",
     kInferencePerf,
     [] {
       ClientSpec spec =
           lengths(Law::lognormal(1000, 800, 100, 5000), Law::lognormal(8000, 6500, 500, 32000));
       spec.prefix = ClientPrefix{.group = "system", .length = Law::constant(250)};
       // The published traces of reasoning services (ServeGen, 2025) spend four fifths on it.
       spec.reasoning = Law::constant(0.8);
       return spec;
     }},
    {"interactive-chat",
     "multi-turn chat with pauses of 45 s",
     kInferencePerf,
     [] {
       return conversation(1000,
                           Law::lognormal(4000, 2500, 500, 15000),
                           Law::lognormal(4, 2.5, 1, 15),
                           Law::lognormal(45, 40, 5, 300),
                           Law::lognormal(50, 40, 10, 1000),
                           Law::normal(300, 150, 10, 1000));
     }},
});

}  // namespace

std::span<const WorkloadPreset> workload_presets() {
  return kPresets;
}

core::Result<const WorkloadPreset*> find_workload_preset(std::string_view name) {
  std::vector<std::string> names;
  for (const WorkloadPreset& preset : kPresets) {
    if (preset.name == name) {
      return &preset;
    }
    names.emplace_back(preset.name);
  }
  const auto near = document::nearest(name, names);
  return core::fail(core::Error{
      .field = "preset",
      .message =
          fmt::format("unknown preset '{}', expected one of {}", name, fmt::join(names, ", ")),
      .hint = near ? fmt::format("did you mean '{}'?", *near) : std::string()});
}

}  // namespace ridgeline::workload
