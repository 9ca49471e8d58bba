#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/lookup.hpp"

namespace ridgeline::latency::measured {

/// What is asked: `gemm M,K,N`, `prefill HEADS SEQ` or `decode HEADS BATCH,KV[,TP]`.
struct LookupQuestion {
  std::string kind;
  HeadShape heads;
  std::vector<std::int64_t> numbers;
  LookupOptions options = {};
};

/// What is answered.
struct LookupAnswer {
  std::string target;
  std::string row;   ///< Its shape.
  std::string file;  ///< Empty of a table that was made for this question.
  int line = 0;
  bool made = false;    ///< By the kernel model.
  std::string missing;  ///< The table of the shape asked for, where `file` stands in for it.
  double row_latency_us = 0.0;
  double row_mfu = 0.0;
  double heads_distance = 0.0;
  std::int64_t tp_distance = 0;
  Lookup lookup;
};

/// One look-up as the published models make it. Fails where no table of the folder can stand in.
[[nodiscard]] core::Result<LookupAnswer> answer_lookup(const KernelTables& tables,
                                                       const LookupQuestion& question);

}  // namespace ridgeline::latency::measured
