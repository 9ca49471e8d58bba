#include "lab/scoring/traits.hpp"

#include <array>
#include <cstddef>
#include <string>

#include "evidence/validate/checkpoint.hpp"
#include "lab/scoring/evidence_words.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::scoring {

std::string format_of(const Evidence& evidence) {
  static constexpr std::array<const char*, 6> kNames = {
      "32 bit", "16 bit", "FP8", "INT8", "FP4", "INT4"};
  auto kind = weight_kind(evidence.weight_quantisation);
  kind = kind ? kind : kind_of_network(evidence.model);
  return kind ? kNames[static_cast<std::size_t>(*kind)] : "";
}

std::string network_of(const Evidence& evidence) {
  const auto network = model::find_model(evidence.model);
  return network ? network->name : evidence.model;
}

}  // namespace ridgeline::scoring
