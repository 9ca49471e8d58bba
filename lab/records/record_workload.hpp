#pragma once

#include "document/document.hpp"
#include "lab/records/evidence_words.hpp"
#include "lab/records/request_log.hpp"

namespace ridgeline::records {

/// The load of a measured run: how many tokens prompts and answers have, what prompts share, and
/// when requests come. Evidence::problem names what is missing. `logs` reads a request log that the
/// workload names. Precondition: the record's identity, measured numbers and fleet are read.
void read_workload(const document::Node& workload, RequestLogs& logs, Evidence& evidence);

}  // namespace ridgeline::records
