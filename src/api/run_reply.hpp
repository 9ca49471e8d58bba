#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "api/call.hpp"
#include "api/call_document.hpp"
#include "api/tables.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "report/run_result.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::api {

/// The code of a run that was stopped.
inline constexpr int kInterrupted = 130;

/// What a call keeps of a run.
struct Kept {
  Keep tables;
  std::optional<std::size_t> series_windows;
  bool shows_series = false;
};

/// The keys `keep` and `series_buckets`.
[[nodiscard]] Kept take_kept(CallDocument& document, core::Errors& errors);

/// An answer that is JSON alone.
[[nodiscard]] Reply answered(const document::Node& tree);

/// The result of a run with all that can be asked of it; its code says whether it was interrupted,
/// and whether a request got an answer.
[[nodiscard]] Reply run_reply(const scenario::Resolved& resolved,
                              report::RunResult&& result,
                              const Kept& kept,
                              std::shared_ptr<const KeptTables> tables);

}  // namespace ridgeline::api
