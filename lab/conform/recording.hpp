#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "domain/request.hpp"
#include "engine/leg.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"

namespace ridgeline::conform {

/// A recorded workload, free of any version.
struct Recording {
  struct Entry {
    std::string name = {};
    std::int64_t arrive_step = 0;
    std::optional<std::int64_t> abort_step = {};
    core::Tokens remote_tokens = {};
    /// The KV of those tokens takes so many iterations to arrive; none: it is there at once.
    std::optional<std::int64_t> remote_steps = {};
    std::int64_t remote_unknown =
        0;  ///< So many times the connector cannot say whether there is KV.
    std::optional<std::int64_t> remote_fail = {};  ///< From this block on it does not come.
    std::int64_t send_steps = 0;                   ///< Its blocks are read so long after its end.
    domain::Request request = {};
    std::vector<engine::Image> images = {};
    /// What comes of a streaming session later; the last one, without a prompt, closes it.
    struct Input {
      std::int64_t step = 0;
      std::optional<domain::Request> request = {};
    };
    std::vector<Input> inputs = {};
  };
  /// What the server is asked to do before an iteration.
  struct Action {
    std::int64_t step = 0;
    std::string what;
  };
  std::string scenario;
  std::vector<Entry> entries;
  std::vector<Action> actions;
  /// vLLM's own offloading to the host's memory.
  struct Offload {
    std::int64_t chunks = 0;  ///< Room for so many.
    bool is_adaptive = false;
    std::int64_t blocks_per_chunk = 1;
    std::int64_t store_threshold = 0;
    bool prompts_only = true;
    std::int64_t load_steps = 1;  ///< Until a transfer is reported.
    std::int64_t store_steps = 1;
    std::uint64_t set_order = 0;  ///< store::ChunkRules::set_order.
  };
  std::optional<Offload> offload;
  bool fails_lost_loads = false;  ///< A request whose KV does not come ends, with an error.
  engine::EngineOptions options;  ///< Without profile.
  double watermark = 0.0;
  bool reserve_full_prompt = true;
};

/// Reads a prompt, segments [seed, tokens] or ["out", request, tokens], into a request, whose name
/// is in `ids`; notes all problems under `path`.
void read_prompt(const document::Node& prompt,
                 const std::map<std::string, core::RequestId>& ids,
                 const std::string& path,
                 domain::Request& request,
                 core::Errors& errors);
/// Ends the reading of a map: what is left over is refused unless it is off (null, false, zero or
/// empty).
void finish_leniently(document::ObjectReader& reader, const document::Node& map);

/// Reads the parts of a recording that hold for every version in it; notes all problems.
void read_configuration(const document::Node& cfg, Recording& recording, core::Errors& errors);
void read_requests(const document::Node& list, Recording& recording, core::Errors& errors);
void read_actions(const document::Node& list, Recording& recording, core::Errors& errors);

/// "main@2025-10-01 (~0.11.0)" -> "0.11.0"; "0.8.5.post1" -> "0.8.5".
[[nodiscard]] std::string version_number(const std::string& text);

/// The engine of one version under the recording's configuration.
[[nodiscard]] engine::EngineOptions options_for(const Recording& recording,
                                                const engine::Profile& profile);

/// Compact text of a value, the same for equal values: what is compared and shown.
[[nodiscard]] std::string text_of(const document::Node& node);
/// text_of() a list or map whose order says nothing.
[[nodiscard]] std::string sorted_text_of(const document::Node& node);

}  // namespace ridgeline::conform
