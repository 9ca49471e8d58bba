// How much faster is the next GPU? One scenario, two runs, three numbers of each.
#include <cstdio>
#include <string>

#include <ridgeline/ridgeline.hpp>

namespace {

int report(const ridgeline::Errors& errors) {
  for (const ridgeline::Error& error : errors) {
    std::fprintf(
        stderr, "%s: %s (%s)\n", error.field.c_str(), error.message.c_str(), error.hint.c_str());
  }
  return static_cast<int>(errors.front().code);
}

}  // namespace

int main() {
  const std::string document =
      R"({"model": "llama-3.1-8b", "seed": 1, "workload": {"request_rate": 8, "num_prompts": 1000,)"
      R"( "input_len": 512, "output_len": 256}})";
  for (const char* gpu : {"h100", "h200"}) {
    const auto scenario = ridgeline::Scenario::from_json(document, {{"gpu", gpu}});
    if (!scenario) {
      return report(scenario.errors());
    }
    const auto resolved = scenario->resolve();
    if (!resolved) {
      return report(resolved.errors());
    }
    const auto result = resolved->run();
    if (!result) {
      return report(result.errors());
    }
    const ridgeline::Tree summary = result->tree()["summary"];
    std::printf("%s  TTFT p99 %.1f ms  TPOT p50 %.2f ms  digest %s\n",
                gpu,
                summary["ttft_ms"]["p99"].number().value_or(0.0),
                summary["tpot_ms"]["p50"].number().value_or(0.0),
                result->tree()["digest"].text().value_or("").c_str());
  }
  return 0;
}
