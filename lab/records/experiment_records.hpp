#pragma once

#include <memory>
#include <string>

#include "document/document.hpp"
#include "evidence/validate/record_reader.hpp"
#include "lab/records/evidence_words.hpp"
#include "lab/records/request_log.hpp"

namespace ridgeline::records {

/// One line of an experiments.jsonl: a measured run, stage or sweep point with its server, workload
/// and numbers. Never fails: what cannot be read or predicted is named in Evidence::problem.
/// `logs` reads the files that the record names.
[[nodiscard]] Evidence read_experiment(const document::Node& record, RequestLogs& logs);

/// A reader of collections and of the product's own records, for use_record_reader().
[[nodiscard]] std::unique_ptr<evidence::validate::RecordReader> make_collection_reader(
    const std::string& folder);

}  // namespace ridgeline::records
