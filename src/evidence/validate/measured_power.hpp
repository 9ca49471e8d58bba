#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {

/// The member `power` of a record's measurements: {"mean_w_per_gpu": ...,
/// "joules_per_output_token":
/// ...}. Watts of one GPU stand there as such, as those of all (`mean_w_total`) or as a share of a
/// limit (`mean_share_of_tdp`, `tdp_w`). Adds what is there and positive; what is not goes to
/// `odd`, a line each.
void read_power(const document::Node& power,
                std::int64_t gpus,
                Figures& figures,
                std::vector<std::string>& odd);

/// Leaves out the power of a record whose GPUs drew less than they do awake and idle
/// (latency::idle_power), and says so in its `doubts`: they did not serve for all of the time that
/// was measured. A record of nothing else is refused. GPUs without a known power limit have any.
void leave_out_idle_power(Evidence& evidence);

}  // namespace ridgeline::evidence::validate
