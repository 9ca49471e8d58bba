#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "latency/measured/kernel_tables.hpp"

namespace ridgeline::latency::measured {

/// The sound tables of a folder's .csv files, each by `read(text, path)`, which gives a Reading;
/// what is wrong goes to `refused`. A folder that is not there has none.
template <class Table, class Read>
std::vector<Table> read_folder(const std::string& folder, core::Errors& refused, const Read& read) {
  std::vector<Table> tables;
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return tables;
  }
  const auto refuse = [&](const core::Errors& errors) {
    refused.insert(refused.end(), errors.begin(), errors.end());
  };
  const auto names = csv_files(folder);
  if (!names) {
    refuse(names.error());
    return tables;
  }
  for (const std::string& file : *names) {
    const std::string path = (std::filesystem::path(folder) / file).string();
    const auto text = document::read_file(path);
    if (!text) {
      refuse(text.error());
      continue;
    }
    Reading<Table> reading = read(*text, path);
    refuse(reading.errors);
    for (Table& table : reading.tables) {
      tables.push_back(std::move(table));
    }
  }
  return tables;
}

/// read_folder() for files whose names give the shape, each by `read(text, path, name)`.
template <class Table, class Read>
std::vector<Table> read_named_folder(const std::string& folder,
                                     core::Errors& refused,
                                     const Read& read) {
  return read_folder<Table>(
      folder, refused, [&](const std::string& text, const std::string& path) -> Reading<Table> {
        const auto name = parse_attention_file_name(path);
        return name ? read(text, path, *name)
                    : Reading<Table>{.tables = {}, .errors = name.error()};
      });
}

}  // namespace ridgeline::latency::measured
