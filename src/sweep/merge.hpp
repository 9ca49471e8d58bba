#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "sweep/store.hpp"

namespace ridgeline::sweep {

/// Goes over every point of a store once, in the order of ordinals, and calls `use` with its row as
/// one line of JSON without a break. Puts `contents` in order. Rows of one point must say the same:
/// two results that differ are an error that names both files. What may differ from run to run is
/// left out, so that the rows are the same bytes for any number of shards, threads and kills.
[[nodiscard]] core::Result<void> each_row(Contents& contents,
                                          const std::function<void(std::string_view)>& use);

/// One line of JSON per point.
[[nodiscard]] core::Result<void> merge_ndjson(Contents& contents, std::ostream& out);
/// A table with a line of names: ordinal, id, status, one column per axis and one per number of the
/// results, nested keys joined by dots, in the order in which they first occur. An absent number is
/// an empty field (RFC 4180).
[[nodiscard]] core::Result<void> merge_csv(Contents& contents, std::ostream& out);
/// That table of rows that merge_ndjson() wrote.
[[nodiscard]] std::string csv_of(const std::vector<std::string>& rows);

}  // namespace ridgeline::sweep
