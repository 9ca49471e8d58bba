#include "evidence/validate/file_load.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/math.hpp"
#include "core/result.hpp"
#include "evidence/validate/evidence.hpp"
#include "workload/compose.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/replay.hpp"
#include "workload/traces/reading/byte_input.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// A line that cannot be read is left out, and named, by the reader of the measurements.
const workload::ReadOptions kReading = {.skip_bad_rows = true};

void take(core::Result<std::unique_ptr<workload::ItemStream>> stream, Evidence& evidence) {
  if (!stream || !evidence.problem.empty() || evidence.stages.size() != 1) {
    return;
  }
  auto list = workload::read_all(**stream);
  StageLoad& stage = evidence.stages.front();
  // Requests whose measurement is not sound are left out with it, and then of the load.
  if (!list || list->items.size() != stage.rows.size()) {
    return;
  }
  for (const core::Warning& warning : (*stream)->warnings()) {
    if (warning.code == "W-no-start-times") {
      evidence.warnings.push_back(warning);
    }
  }
  // Clients that wait for answers are paced by them, but for sessions: what a turn finds in the
  // cache is worth more than the pace.
  const bool has_sessions = std::ranges::any_of(
      list->items, [](const workload::Item& item) { return item.session >= 0; });
  if (stage.kind != StageLoad::Kind::kClosed || has_sessions) {
    stage.items = std::make_shared<const workload::ItemList>(std::move(*list));
  }
}

std::unique_ptr<workload::ItemStream> of_one_rank(const workload::ItemList& items,
                                                  std::int64_t ranks) {
  auto stream = workload::make_list_stream(items);
  return ranks > 1 ? workload::dealt_out(std::move(stream), ranks) : std::move(stream);
}

}  // namespace

void take_load(const std::string& text, const std::string& path, Evidence& evidence) {
  take(workload::open_items(
           workload::make_plain_input(std::make_unique<std::istringstream>(text)), path, kReading),
       evidence);
}

void take_load_of_file(const std::string& path, Evidence& evidence) {
  take(workload::open_items(path, kReading), evidence);
}

FileLoad::FileLoad(const workload::ItemList& items, std::int64_t ranks)
    : source_(workload::make_replay(of_one_rank(items, ranks))) {
  const auto counted = of_one_rank(items, ranks);
  for (workload::Item item; counted->next(item);) {
    ++own_;
  }
  if (own_ > 0) {
    times_rank_ = core::real(std::ssize(items.items)) / core::real(own_);
  }
}

}  // namespace ridgeline::evidence::validate
