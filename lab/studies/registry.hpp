#pragma once

#include "lab/studies/study.hpp"

namespace ridgeline::studies {

// One file each.
[[nodiscard]] Study study_h1();
[[nodiscard]] Study study_h2b();
[[nodiscard]] Study study_h3();
[[nodiscard]] Study study_h4();
[[nodiscard]] Study study_h6();
[[nodiscard]] Study study_mfu();
[[nodiscard]] Study study_rounding();
[[nodiscard]] Study study_streaming();
[[nodiscard]] Study study_rank();
[[nodiscard]] Study study_tp_scaling();
[[nodiscard]] Study study_infersim();
[[nodiscard]] Study study_llmd_37();
[[nodiscard]] Study study_llmd_73();
[[nodiscard]] Study study_llmd_latency();
[[nodiscard]] Study study_llmd_eks();
[[nodiscard]] Study study_llmd_04();
[[nodiscard]] Study study_llmd_sticky();
[[nodiscard]] Study study_staleness();
[[nodiscard]] Study study_dynamo_pd();
[[nodiscard]] Study study_pd_threshold();
[[nodiscard]] Study study_admitter();
[[nodiscard]] Study study_sglang_cache();
[[nodiscard]] Study study_distserve();
[[nodiscard]] Study study_dynamo_ab();
[[nodiscard]] Study study_mooncake();
[[nodiscard]] Study study_splitwise();
[[nodiscard]] Study study_kv_tiers();

}  // namespace ridgeline::studies
