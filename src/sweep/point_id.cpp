#include "sweep/point_id.hpp"

#include <string>
#include <string_view>

#include "core/digest.hpp"
#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "document/node_json.hpp"

namespace ridgeline::sweep {

/// Says what the digest covers; another number where that changes.
constexpr std::string_view kIdFormat = "ridgeline point 1";

std::string one_line(const document::Node& node) {
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  document::write(node, json);
  return json.text();
}

std::string point_id(const document::Node& scenario, const document::Node& estimator) {
  core::Digest digest;
  digest.add(kIdFormat);
  digest.add(std::string_view(one_line(scenario)));
  digest.add(std::string_view(one_line(estimator)));
  return digest.hex();
}

}  // namespace ridgeline::sweep
