#pragma once

#include "evidence/validate/record_reader.hpp"
#include "lab/records/experiment_records.hpp"

namespace ridgeline::test {

/// A test binary that includes this reads collections of measured runs, as `ridgeline-lab` does.
inline const bool kReadsCollections = [] {
  evidence::validate::use_record_reader(records::make_collection_reader);
  return true;
}();

}  // namespace ridgeline::test
