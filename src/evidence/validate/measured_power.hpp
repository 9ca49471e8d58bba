#pragma once

#include <cstdint>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {

/// The member `power` of a record's measurements: {"mean_w_per_gpu": ...,
/// "joules_per_output_token":
/// ...}. Watts of one GPU stand there as such, as those of all (`mean_w_total`) or as a share of a
/// limit (`mean_share_of_tdp`, `tdp_w`). Adds what is there and positive.
void read_power(const document::Node& power, std::int64_t gpus, Figures& figures);

}  // namespace ridgeline::evidence::validate
