#include "scenario/digest.hpp"

#include <string>
#include <string_view>

#include "core/digest.hpp"
#include "document/json_writer.hpp"
#include "document/node_json.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

std::string scenario_digest(const Scenario& scenario) {
  // Says what the digest covers; another number where that changes.
  constexpr std::string_view kFormat = "ridgeline scenario 1";
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  document::write(to_node(scenario), json);
  core::Digest digest;
  digest.add(kFormat);
  digest.add(std::string_view(json.text()));
  return digest.hex();
}

}  // namespace ridgeline::scenario
