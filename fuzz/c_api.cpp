// Any bytes as a verb and a document of rl_call(): errors or a result, always JSON, never a fault.
// Runs are interrupted at once.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/check.hpp"
#include "document/document.hpp"
#include "ridgeline.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ridgeline;
  // Those that open no file which the document names.
  constexpr std::array<const char*, 6> kVerbs = {
      "run", "explain", "step", "list", "schema", "no such verb"};
  constexpr int kInternal = 70;
  if (size == 0) {
    return 0;
  }
  const std::string_view json(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (json.find('/') != std::string_view::npos) {
    return 0;  // A path.
  }
  volatile int stop = 1;
  rl_hooks hooks = {};
  hooks.size = sizeof(hooks);
  hooks.interrupt = &stop;
  rl_result* result = nullptr;
  const int code =
      rl_call(kVerbs[data[0] % kVerbs.size()], json.data(), json.size(), &hooks, &result);
  RIDGELINE_CHECK(result != nullptr && code != kInternal, "a fault of the library");
  std::size_t n = 0;
  const char* text = rl_json(result, &n);
  RIDGELINE_CHECK(document::parse_json(std::string(text, n), "").has_value(), "no JSON");
  rl_free(result);
  return 0;
}
