#include "latency/measured/shared_tables.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/table_notes.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::measured {
namespace {

namespace fs = std::filesystem;

/// The files of a folder as they are now: path, size, time of the last change.
using State = std::vector<std::tuple<std::string, std::uintmax_t, fs::file_time_type>>;

State state_of(const std::string& directory, const std::string& gpu) {
  State state;
  std::error_code failed;  // what cannot be looked at is load_bench_data's error
  std::error_code unknown;
  for (const char* kind : {"gemm", "mha/prefill", "mha/decode"}) {
    for (fs::directory_iterator folder(fs::path(directory) / kind, failed), last;
         !failed && folder != last;
         folder.increment(failed)) {
      // Its folders may have another of its names (load_bench_data).
      const std::string name = folder->path().filename().string();
      const auto known = name == gpu ? std::nullopt : std::optional(hardware::find_gpu(name));
      if (known && !(*known && (*known)->name == gpu)) {
        continue;
      }
      for (fs::directory_iterator entry(folder->path(), unknown), end; !unknown && entry != end;
           entry.increment(unknown)) {
        std::error_code unseen;
        state.emplace_back(
            entry->path().string(), entry->file_size(unseen), entry->last_write_time(unseen));
      }
    }
  }
  std::ranges::sort(state);
  return state;
}

struct Known {
  State state;
  std::weak_ptr<const SharedTables> tables;
};

}  // namespace

core::Result<std::shared_ptr<const SharedTables>> share_bench_data(const std::string& directory,
                                                                   const std::string& gpu) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::string>, Known> in_use;
  const std::lock_guard lock(mutex);
  std::erase_if(in_use, [](const auto& one) { return one.second.tables.expired(); });
  State state = state_of(directory, gpu);
  Known& known = in_use[{directory, gpu}];
  if (auto tables = known.tables.lock(); tables != nullptr && known.state == state) {
    return tables;
  }
  auto loaded = load_bench_data(directory, gpu);
  if (!loaded) {
    return core::fail(std::move(loaded).error());
  }
  auto notes = notes_of(*loaded);
  auto tables = std::make_shared<const SharedTables>(
      SharedTables{.tables = std::move(*loaded), .notes = std::move(notes)});
  known = {.state = std::move(state), .tables = tables};
  return tables;
}

}  // namespace ridgeline::latency::measured
