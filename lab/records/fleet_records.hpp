#pragma once

#include "document/document.hpp"
#include "lab/records/evidence_words.hpp"

/// Records of several instances that serve together.
namespace ridgeline::records {

/// A record's `cluster` where it tells of a fleet; nullptr where the record is of one instance.
[[nodiscard]] const document::Node* fleet_of(const document::Node& record);

/// Reads the instances of a fleet and what stands before them, or between them: `fleet`, and
/// settings in `stated`. A key of the wrong kind is named in `problem`, a policy or a network that
/// is not simulated in `refusal`. Needs what read_identity() and read_server() fill.
void read_cluster(const document::Node& cluster, Evidence& evidence);

/// Reads a load of stages of prompts in groups, on a fleet behind a router: what its servers went
/// through before, and after. Needs what read_cluster() and read_workload() fill.
void read_ladder(const document::Node& workload, Evidence& evidence);

}  // namespace ridgeline::records
