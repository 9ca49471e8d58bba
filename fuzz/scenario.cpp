// A scenario of arbitrary bytes: refused with a reason, or read; and what is read comes back from
// the document that every result holds.
#include "scenario/scenario.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/check.hpp"
#include "document/document.hpp"
#include "scenario/options.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ridgeline;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = document::parse_yaml(text, "scenario.yaml");
  if (!document) {
    return 0;
  }
  for (const auto purpose : {scenario::Purpose::kRun, scenario::Purpose::kLook}) {
    const auto loaded = scenario::read_scenario(*document, {}, purpose);
    if (!loaded) {
      RIDGELINE_CHECK(!loaded.error().empty(), "a refusal without a reason");
      continue;
    }
    const document::Node written = scenario::to_node(loaded->scenario);
    const auto again = scenario::read_scenario(written, {}, purpose);
    RIDGELINE_CHECK(again.has_value(), "a scenario that was read is refused when written");
    RIDGELINE_CHECK(
        scenario::flow_text(scenario::to_node(again->scenario)) == scenario::flow_text(written),
        "a scenario changes when written and read");
  }
  return 0;
}
