#pragma once

#include <string>

#include "latency/measured/check.hpp"
#include "latency/measured/data_sheets.hpp"

namespace ridgeline::latency::measured {

/// What the other tables of InferSim's layout are made of: latent attention (`mla/`), grouped
/// GEMMs of experts (`grouped_gemm/`), and a note for each folder of a kind that is not read.
/// `attention_peak` is what the tables of plain attention say, in TFLOP/s; 0: there are none.
void check_latent_attention(const std::string& directory,
                            const std::string& gpu,
                            const KnownPeaks& peaks,
                            double attention_peak,
                            TableCheck& into);
void check_grouped_gemms(const std::string& directory, const std::string& gpu, TableCheck& into);
void note_folders_not_read(const std::string& directory, TableCheck& into);

}  // namespace ridgeline::latency::measured
