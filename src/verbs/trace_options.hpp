#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "verbs/host.hpp"
#include "verbs/request.hpp"
#include "verbs/verb.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::verbs {

/// Whether a file is a trace, not a scenario: its content has a trace's format, and not a
/// scenario's keys.
[[nodiscard]] bool is_trace(const std::string& path);
/// Whether a workload of `list presets` is called so.
[[nodiscard]] bool is_workload_preset(std::string_view name);

/// A preset's lengths as the options `input_len` and `output_len` take them.
struct PresetLengths {
  std::string preset;
  std::string input;
  std::string output;
};
/// The presets that are nothing but lengths: a description has those with sessions, prefixes or
/// thoughts.
[[nodiscard]] std::vector<PresetLengths> preset_lengths();

/// How traces are read: `skip_bad_rows`, `trace_sessions`, `trace_start`, `seed` ...
[[nodiscard]] std::vector<Parameter> trace_parameters();
/// What is wrong of it is kept in the request.
[[nodiscard]] workload::ReadOptions take_read_options(Request& request);

/// The stream as it is, which tells the host how far it is; both last as long.
[[nodiscard]] std::unique_ptr<workload::ItemStream> watched(
    std::unique_ptr<workload::ItemStream> stream, Host& host);

}  // namespace ridgeline::verbs
