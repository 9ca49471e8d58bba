#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"

/// Records of measured runs: lines of a JSONL file that no benchmark client wrote.
namespace ridgeline::evidence::validate {

/// Reads the records of one file.
class RecordReader {
 public:
  virtual ~RecordReader() = default;
  /// Never fails: what cannot be read or predicted is named in Evidence::problem.
  [[nodiscard]] virtual Evidence read(const document::Node& record) = 0;
};

/// A reader of the records of a file in `folder`.
using MakeRecordReader = std::unique_ptr<RecordReader> (*)(const std::string& folder);

/// The problem of a record that has the keys of the laboratory's collections.
inline constexpr std::string_view kNeedsLaboratory =
    "is a record of a collection, which ridgeline-lab reads: `./dev lab` builds it";

/// {"id": ..., "deployment": {...}, "load": {...}, "figures": {...}} (docs/formats.md): the
/// deployment by the keys of a scenario, the load by those of its workload.
[[nodiscard]] Evidence read_measured_record(const document::Node& record);

/// Reads the records of further formats too. For main(), before anything is read.
void use_record_reader(MakeRecordReader make);
/// What use_record_reader() got; without it read_measured_record().
[[nodiscard]] std::unique_ptr<RecordReader> make_record_reader(const std::string& folder);

}  // namespace ridgeline::evidence::validate
