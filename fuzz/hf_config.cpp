// A config.json of arbitrary bytes: refused or read, and what is read can be cut and counted.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/check.hpp"
#include "document/document.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ridgeline;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = document::parse_json(text, "config.json");
  if (!document) {
    return 0;
  }
  const auto spec = model::model_from_node(*document, "fuzz");
  if (!spec) {
    RIDGELINE_CHECK(!spec.error().empty(), "a refusal without a reason");
    return 0;
  }
  RIDGELINE_CHECK(model::total_parameters(*spec) > 0.0, "a network without weights");
  RIDGELINE_CHECK(model::active_parameters(*spec) <= model::total_parameters(*spec),
                  "more active than there are");
  const model::Sharding sharding{.tensor_parallel_size = 2};
  if (model::check_sharding(*spec, sharding)) {
    RIDGELINE_CHECK(
        model::weight_bytes_per_rank(*spec, sharding) <= model::weight_bytes_per_rank(*spec, {}),
        "a part is larger than the whole");
  }
  return 0;
}
