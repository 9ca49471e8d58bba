#include "lab/studies/registry.hpp"

#include <vector>

#include "lab/studies/study.hpp"
#include "lab/studies/study_file.hpp"

namespace ridgeline::studies {

// One line per study, in the order in which they were asked.
const std::vector<Study>& studies() {
  static const std::vector<Study> kStudies = {
      study_h1(),
      study_h2b(),
      study_h3(),
      study_h4(),
      compiled_in_study("h5"),
      study_h6(),
      compiled_in_study("h27"),
      compiled_in_study("h28"),
      compiled_in_study("h29"),
      compiled_in_study("h33"),
      compiled_in_study("h34"),
      compiled_in_study("h35"),
      study_mfu(),
      study_rounding(),
      study_streaming(),
      study_rank(),
      study_tp_scaling(),
      study_infersim(),
      study_llmd_37(),
      study_llmd_73(),
      study_staleness(),
      study_dynamo_pd(),
      study_pd_threshold(),
      study_admitter(),
      study_sglang_cache(),
      study_distserve(),
      study_kv_tiers(),
      study_llmd_latency(),
      study_llmd_eks(),
      study_llmd_04(),
      study_llmd_sticky(),
      study_dynamo_ab(),
      study_mooncake(),
      study_splitwise(),
  };
  return kStudies;
}

}  // namespace ridgeline::studies
