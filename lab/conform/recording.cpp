#include "lab/conform/recording.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"

namespace ridgeline::conform {
namespace {

using core::RequestId;

/// Tokens of a request's prompt, and of its answer. The plain twin holds a list of all its blocks.
constexpr core::Tokens kMostTokens{1'000'000};
constexpr int kSeedBits = 40;
constexpr std::int64_t kLargestSeed = (std::int64_t{1} << kSeedBits) - 2;

/// Prompt content ids of a recording: a segment's seed, kept apart from what requests generate.
std::uint64_t content_of_seed(std::int64_t seed) {
  return static_cast<std::uint64_t>(seed) + 1;
}

/// Numbers names in the order in which they are first met, from 1.
class Numbering {
 public:
  std::uint32_t operator()(const std::string& name) {
    return numbers_.emplace(name, static_cast<std::uint32_t>(numbers_.size() + 1)).first->second;
  }

 private:
  std::map<std::string, std::uint32_t> numbers_;
};

/// Null, false, zero or empty: says that something is not used.
bool is_off(const document::Node& node) {
  switch (node.kind()) {
    case document::Node::Kind::kNull:
      return true;
    case document::Node::Kind::kBool:
      return !node.as_bool();
    case document::Node::Kind::kInteger:
      return node.as_integer() == 0;
    case document::Node::Kind::kReal:
      return node.as_real() == 0.0;
    case document::Node::Kind::kString:
      return node.as_string().empty();
    case document::Node::Kind::kList:
      return node.items().empty();
    case document::Node::Kind::kMap:
      return node.members().empty();
  }
  return false;
}

/// How long the KV that another engine hands over is on the way: a number of iterations, or one
/// where it is only said that it takes time.
std::optional<std::int64_t> read_remote_steps(document::ObjectReader& reader) {
  const auto steps = reader.integer("remote_steps", {0, 1'000'000});
  const bool async = reader.boolean("remote_async").value_or(steps.has_value());
  return async ? std::optional(steps.value_or(1)) : std::nullopt;
}

/// A name or a number from 1 on; absent and 0 mean none.
std::optional<std::string> read_name(document::ObjectReader& reader, const char* key) {
  const document::Node* node = reader.node(key);
  if (node == nullptr || is_off(*node)) {
    return std::nullopt;
  }
  if (!node->is_string() && node->kind() != document::Node::Kind::kInteger) {
    reader.problem(key, "found " + node->describe() + ", expected a name or a number");
    return std::nullopt;
  }
  return text_of(*node);
}

/// Requests under names, and what is numbered among them.
struct RequestNames {
  std::map<std::string, RequestId> ids;
  Numbering adapters;
  Numbering salts;
  Numbering images;
  Numbering pieces;
};

/// Reads images, [[offset, tokens, name]...], in the order of their places.
void read_images(document::ObjectReader& reader, RequestNames& names, Recording::Entry& entry) {
  const document::Node* const list = reader.node("images");
  if (list == nullptr || is_off(*list)) {
    return;
  }
  std::int64_t end = 0;
  for (const document::Node& image : list->is_list() ? list->items() : std::vector{*list}) {
    const auto is_number = [&](std::size_t i) {
      return image.items()[i].kind() == document::Node::Kind::kInteger;
    };
    const bool is_image = image.is_list() && image.items().size() == 3 && is_number(0) &&
                          is_number(1) && image.items()[0].as_integer() >= end &&
                          image.items()[1].as_integer() > 0;
    end = is_image ? image.items()[0].as_integer() + image.items()[1].as_integer() : end;
    if (!is_image || core::Tokens(end) > entry.request.prompt_tokens) {
      reader.problem("images",
                     "found " + text_of(image) +
                         ", expected [offset, tokens, name] within the prompt and behind the last");
      return;
    }
    entry.images.push_back({.offset = image.items()[0].as_integer(),
                            .tokens = image.items()[1].as_integer(),
                            .content = names.images(text_of(image.items()[2]))});
  }
}

/// vLLM hashes an image into the blocks that hold a part of it: what stands in and behind an image
/// has contents of its own.
void tell_images_apart(Recording::Entry& entry, Numbering& pieces) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 61;
  std::vector<domain::Segment> segments;
  const auto name = [&](const domain::Segment& segment, std::int64_t from, const std::string& of) {
    return from == 0 && of.empty()
               ? segment.content
               : kPiece | pieces(fmt::format("{} {} {}", segment.content, from, of));
  };
  std::int64_t begin = 0;
  for (const domain::Segment& segment : entry.request.prompt.own()) {
    const std::int64_t end = begin + segment.length.value();
    for (std::int64_t at = begin; at < end;) {
      std::int64_t stop = end;
      std::string of;
      for (const engine::Image& image : entry.images) {
        if (at < image.offset) {
          stop = std::min(stop, image.offset);
        } else if (at < image.offset + image.tokens) {
          of = fmt::format("{} {}", image.content, at - image.offset);
          stop = std::min(stop, image.offset + image.tokens);
        }
      }
      segments.push_back({name(segment, at - begin, of), core::Tokens(stop - at)});
      at = stop;
    }
    begin = end;
  }
  entry.request.prompt.own() = std::move(segments);
}

/// Reads what comes of a streaming session later: [{step, prompt, max_tokens}... {step, end}].
void read_inputs(document::ObjectReader& reader,
                 const std::map<std::string, RequestId>& ids,
                 const std::string& path,
                 Recording::Entry& entry,
                 core::Errors& errors) {
  const document::Node* const list = reader.node("chunks");
  if (list == nullptr || is_off(*list)) {
    return;
  }
  if (!list->is_list()) {
    reader.problem("chunks", "found " + list->describe() + ", expected a list");
    return;
  }
  for (const document::Node& node : list->items()) {
    const std::string place = path + ".chunks";
    document::ObjectReader input(node, place, errors);
    Recording::Entry::Input& read = entry.inputs.emplace_back(
        Recording::Entry::Input{.step = input.required_integer("step", {0, 1'000'000})});
    if (input.boolean("end").value_or(false)) {
      input.finish();
      continue;
    }
    domain::Request request = entry.request;
    request.prompt.clear();
    request.prompt_tokens = core::Tokens(0);
    request.max_tokens = core::Tokens(input.required_integer("max_tokens", {1, 1'000'000}));
    request.output_tokens = kMostTokens;  // Its limit ends it.
    if (const auto* prompt = input.node("prompt")) {
      read_prompt(*prompt, ids, place, request, errors);
    } else {
      input.problem("prompt", "is missing, expected a list of segments");
    }
    read.request = request;
    input.finish();
  }
}

Recording::Entry read_request(const document::Node& node,
                              std::size_t index,
                              RequestNames& names,
                              core::Errors& errors) {
  const std::string path = fmt::format("requests[{}]", index);
  document::ObjectReader reader(node, path, errors);
  Recording::Entry entry;
  entry.name = reader.required_string("id");
  entry.arrive_step = reader.integer("arrive_step", {0, 1'000'000}).value_or(0);
  entry.abort_step = reader.integer("abort_step", {0, 1'000'000});
  entry.remote_tokens = core::Tokens(reader.integer("remote_tokens", {0, 1'000'000}).value_or(0));
  entry.remote_steps = read_remote_steps(reader);
  domain::Request& request = entry.request;
  if (names.ids.contains(entry.name)) {
    request.id = names.ids.at(entry.name);
  }
  request.max_tokens = core::Tokens(reader.required_integer("max_tokens", {1, 1'000'000}));
  request.output_tokens = request.max_tokens;
  request.priority =
      static_cast<std::int32_t>(reader.integer("priority", {-1'000'000, 1'000'000}).value_or(0));
  const double arrival =
      reader.real("arrival_time", {0.0, 1e6}).value_or(static_cast<double>(index) * 1e-6);
  request.arrival =
      core::SimTime::at(core::Duration::from_seconds(arrival).value_or(core::Duration()));
  if (const auto lora = read_name(reader, "lora")) {
    request.lora = core::LoraId(names.adapters(*lora));
  }
  const auto salt = read_name(reader, "cache_salt");
  if (const auto* prompt = reader.node("prompt")) {
    read_prompt(*prompt, names.ids, path, request, errors);
  } else {
    reader.problem("prompt", "is missing, expected a list of segments");
  }
  if (salt && !request.prompt.empty()) {
    // vLLM hashes the salt into the first block, and with it into the whole chain.
    request.prompt.own().front().content |= std::uint64_t{names.salts(*salt)} << kSeedBits;
  }
  entry.remote_unknown = reader.integer("remote_unknown", {0, 1'000'000}).value_or(0);
  entry.remote_fail = reader.integer("remote_fail", {0, 1'000'000});
  entry.send_steps = reader.integer("send_steps", {0, 1'000'000}).value_or(0);
  read_images(reader, names, entry);
  if (!entry.images.empty()) {
    tell_images_apart(entry, names.pieces);
  }
  read_inputs(reader, names.ids, path, entry, errors);
  finish_leniently(reader, node);
  return entry;
}

}  // namespace

void finish_leniently(document::ObjectReader& reader, const document::Node& map) {
  if (map.is_map()) {
    for (const auto& member : map.members()) {
      if (is_off(member.value)) {
        reader.node(member.key);
      }
    }
  }
  reader.finish();
}

void read_prompt(const document::Node& prompt,
                 const std::map<std::string, RequestId>& ids,
                 const std::string& path,
                 domain::Request& request,
                 core::Errors& errors) {
  const auto refuse = [&](const document::Node& node) {
    errors.push_back({.field = path + ".prompt",
                      .message = "found " + text_of(node) +
                                 ", expected segments [seed, tokens] or [\"out\", request, "
                                 "tokens] of at least a token each and 1000000 together",
                      .where = node.where()});
  };
  if (!prompt.is_list()) {
    refuse(prompt);
    return;
  }
  for (const auto& segment : prompt.items()) {
    using Kind = document::Node::Kind;
    const auto kind = [&](std::size_t i) { return segment.items()[i].kind(); };
    const std::size_t size = segment.is_list() ? segment.items().size() : 0;
    if (size == 2 && kind(0) == Kind::kInteger && kind(1) == Kind::kInteger &&
        segment.items()[0].as_integer() >= 0 && segment.items()[0].as_integer() <= kLargestSeed) {
      request.prompt.push_back({content_of_seed(segment.items()[0].as_integer()),
                                core::Tokens(segment.items()[1].as_integer())});
    } else if (size == 3 && kind(0) == Kind::kString && kind(1) == Kind::kString &&
               kind(2) == Kind::kInteger && ids.contains(segment.items()[1].as_string())) {
      request.prompt.push_back({domain::output_content(ids.at(segment.items()[1].as_string())),
                                core::Tokens(segment.items()[2].as_integer())});
    } else {
      refuse(segment);
      return;
    }
    const core::Tokens length = request.prompt.back().length;
    if (length < core::Tokens(1) || length > kMostTokens - request.prompt_tokens) {
      refuse(segment);
      return;
    }
    request.prompt_tokens += length;
  }
}

void read_requests(const document::Node& list, Recording& recording, core::Errors& errors) {
  // Ids are ranks of the names: vLLM breaks ties by comparing them as text.
  std::set<std::string> sorted;
  for (const auto& node : list.items()) {
    const auto* name = node.find("id");
    if (name != nullptr && name->is_string() && !sorted.insert(name->as_string()).second) {
      errors.push_back({.field = "requests",
                        .message = "found two requests named \"" + name->as_string() + "\"",
                        .where = name->where()});
    }
  }
  RequestNames names;
  for (const auto& name : sorted) {
    names.ids.emplace(name, RequestId(static_cast<std::uint32_t>(names.ids.size())));
  }
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    recording.entries.push_back(read_request(list.items()[i], i, names, errors));
    const Recording::Entry& entry = recording.entries.back();
    recording.options.kv_transfer = recording.options.kv_transfer ||
                                    entry.remote_tokens > core::Tokens(0) ||
                                    entry.remote_steps.has_value();
  }
}

namespace {

/// Numbers of drafts by the requests of a step: [[from, to, drafts]...], a gap as what is before
/// it.
void read_draft_levels(document::ObjectReader& reader, engine::EngineOptions& options) {
  constexpr const char* kKey = "num_speculative_tokens_per_batch_size";
  const document::Node* const levels = reader.node(kKey);
  if (levels == nullptr || is_off(*levels)) {
    return;
  }
  if (!levels->is_list()) {
    reader.problem(kKey, "found " + levels->describe() + ", expected a list");
    return;
  }
  for (const document::Node& level : levels->items()) {
    const bool is_level =
        level.is_list() && level.items().size() == 3 &&
        std::ranges::all_of(level.items(), [](const document::Node& number) {
          return number.kind() == document::Node::Kind::kInteger && number.as_integer() >= 0;
        });
    if (!is_level) {
      reader.problem(kKey, "found " + text_of(level) + ", expected [from, to, drafts]");
      return;
    }
    const std::int64_t from = level.items()[0].as_integer();
    if (!options.draft_levels.empty()) {
      options.draft_levels.back().most_requests = from - 1;
    }
    options.draft_levels.push_back(
        {.most_requests = level.items()[1].as_integer(), .drafts = level.items()[2].as_integer()});
  }
}

void read_drafting(document::ObjectReader& reader, engine::EngineOptions& options) {
  options.num_speculative_tokens = reader.integer("num_spec", {0, 64}).value_or(0);
  // EAGLE's later kinds and multi-token prediction read hidden states as EAGLE does.
  static const std::array<std::string, 5> kMethods = {
      "eagle", "eagle3", "mtp", "draft_model", "ngram"};
  const std::string method = reader.choice("spec_method", kMethods).value_or("eagle");
  options.draft_method = method == "ngram"         ? engine::DraftMethod::kNgram
                         : method == "draft_model" ? engine::DraftMethod::kDraftModel
                         : method == "dspark"      ? engine::DraftMethod::kBlock
                                                   : engine::DraftMethod::kEagle;
  options.drafts_read_ahead = reader.boolean("multi_module_mtp").value_or(false);
  read_draft_levels(reader, options);
}

void read_groups(document::ObjectReader& reader, engine::EngineOptions& options) {
  const auto windows =
      reader.integers("swa_windows", {1, 100'000'000}).value_or(std::vector<std::int64_t>{});
  const bool windows_only = reader.boolean("swa_only").value_or(false);
  options.cache_groups.clear();
  if (!windows_only) {
    options.cache_groups.push_back({});
  }
  for (const auto window : windows) {
    options.cache_groups.push_back({.sliding_window = core::Tokens(window)});
  }
  for (const auto chunk :
       reader.integers("local_chunks", {1, 100'000'000}).value_or(std::vector<std::int64_t>{})) {
    options.cache_groups.push_back({.sliding_window = core::Tokens(chunk), .is_chunk = true});
  }
  const std::int64_t state_groups = reader.integer("state_groups", {0, 64}).value_or(0);
  options.cache_groups.insert(
      options.cache_groups.end(),
      static_cast<std::size_t>(state_groups),
      engine::CacheGroup{.sliding_window = core::Tokens(2), .keeps_states = true});
  if (options.cache_groups.empty()) {
    reader.problem("swa_only", "leaves no layers, expected at least one of swa_windows");
  }
}

void read_offload(document::ObjectReader& reader, Recording& recording, core::Errors& errors) {
  const document::Node* const node = reader.node("offload");
  if (node == nullptr || is_off(*node)) {
    return;
  }
  document::ObjectReader offload(*node, "cfg.offload", errors);
  static const std::array<std::string, 2> kPolicies = {"lru", "arc"};
  recording.offload = {
      .chunks = offload.required_integer("chunks", {1, 100'000'000}),
      .is_adaptive = offload.choice("policy", kPolicies).value_or("lru") == "arc",
      .blocks_per_chunk = offload.integer("blocks_per_chunk", {1, 4096}).value_or(1),
      .store_threshold = offload.integer("store_threshold", {0, 1'000'000}).value_or(0),
      .prompts_only = offload.boolean("prompt_only").value_or(true),
      .load_steps = offload.integer("load_steps", {1, 1'000'000}).value_or(1),
      .store_steps = offload.integer("store_steps", {1, 1'000'000}).value_or(1)};
  recording.options.kv_transfer = true;
  recording.options.kv_connector = true;
  offload.finish();
}

}  // namespace

void read_actions(const document::Node& list, Recording& recording, core::Errors& errors) {
  static const std::array<std::string, 5> kActions = {
      "pause_new", "pause_all", "resume", "reset_prefix_cache", "reset_running"};
  if (!list.is_list()) {
    errors.push_back({.field = "actions",
                      .message = "found " + list.describe() + ", expected a list",
                      .where = list.where()});
    return;
  }
  for (const document::Node& node : list.items()) {
    document::ObjectReader reader(node, "actions", errors);
    const std::int64_t step = reader.required_integer("step", {0, 1'000'000});
    const auto what = reader.choice("do", kActions);
    if (!what) {
      reader.problem("do", "is missing");
    }
    recording.actions.push_back({.step = step, .what = what.value_or("")});
    reader.finish();
  }
}

void read_configuration(const document::Node& cfg, Recording& recording, core::Errors& errors) {
  document::ObjectReader reader(cfg, "cfg", errors);
  engine::EngineOptions& options = recording.options;
  options.num_gpu_blocks = core::Blocks(reader.required_integer("num_blocks", {2, 10'000'000}));
  // Ranks that share a context hold as many blocks, each a part of every block.
  options.block_size = core::Tokens(reader.required_integer("block_size", {1, 4096}) *
                                    reader.integer("dcp", {1, 64}).value_or(1));
  options.max_num_seqs = reader.required_integer("max_num_seqs", {1, 1'000'000});
  options.max_num_batched_tokens =
      core::Tokens(reader.required_integer("max_num_batched_tokens", {1, 100'000'000}));
  options.max_num_scheduled_tokens =
      core::Tokens(reader.integer("max_num_scheduled_tokens", {0, 100'000'000}).value_or(0));
  options.max_model_len = core::Tokens(reader.required_integer("max_model_len", {1, 100'000'000}));
  options.long_prefill_token_threshold =
      core::Tokens(reader.integer("long_prefill_token_threshold", {0, 100'000'000}).value_or(0));
  static const std::array<std::string, 2> kPolicies = {"fcfs", "priority"};
  options.policy = reader.choice("policy", kPolicies).value_or("fcfs") == "priority"
                       ? engine::SchedulingPolicy::kPriority
                       : engine::SchedulingPolicy::kFcfs;
  options.enable_prefix_caching = reader.boolean("enable_prefix_caching").value_or(true);
  options.enable_chunked_prefill = reader.boolean("chunked_prefill").value_or(true);
  options.async_scheduling = reader.boolean("async_scheduling").value_or(false);
  read_drafting(reader, options);
  if (const auto interval = reader.integer("prefix_cache_retention_interval", {0, 100'000'000})) {
    options.prefix_cache_retention_interval = core::Tokens(*interval);
  }
  recording.watermark = reader.real("watermark", {0.0, 1.0}).value_or(0.0);
  recording.reserve_full_prompt = reader.boolean("reserve_full_isl").value_or(true);
  options.pipeline_depth = reader.integer("pipeline_depth", {1, 64}).value_or(0);
  options.pipeline_depth =
      reader.integer("pipeline_stages", {1, 64}).value_or(options.pipeline_depth);
  options.max_loras = reader.integer("max_loras", {1, 1'000'000}).value_or(0);
  static const std::array<std::string, 2> kRoles = {"consumer", "producer"};
  const auto role = reader.choice("kv_role", kRoles);
  options.kv_transfer = role.has_value();
  options.kv_consumer = role == "consumer";
  static const std::array<std::string, 2> kFailures = {"recompute", "fail"};
  recording.fails_lost_loads =
      reader.choice("kv_load_failure_policy", kFailures).value_or("fail") == "fail";
  options.max_num_active_seqs = reader.integer("max_num_active_seqs", {1, 1'000'000}).value_or(0);
  options.prefill_schedule_interval =
      reader.integer("prefill_schedule_interval", {1, 1'000'000}).value_or(1);
  options.long_prefill_token_threshold_adaptive =
      reader.boolean("long_prefill_adaptive").value_or(false);
  options.second_runner = reader.boolean("v2_model_runner").value_or(false);
  options.encoder_budget = reader.integer("encoder_budget", {1, 100'000'000}).value_or(0);
  options.encoder_cache =
      reader.integer("encoder_cache", {1, 100'000'000}).value_or(options.encoder_budget);
  options.disable_chunked_mm_input = reader.boolean("disable_chunked_mm_input").value_or(false);
  read_offload(reader, recording, errors);
  read_groups(reader, options);
  finish_leniently(reader, cfg);
}

std::string version_number(const std::string& text) {
  const auto tilde = text.find('~');
  std::string number = tilde == std::string::npos ? text : text.substr(tilde + 1);
  const auto end = number.find_first_not_of("0123456789.");
  const bool is_before_next = end != std::string::npos && number.substr(end) == "-dev)";
  number = number.substr(0, end);
  if (const auto dot = number.find('.'); is_before_next && dot != std::string::npos) {
    // What is built behind a release becomes the next one.
    int minor = 0;
    std::from_chars(number.data() + dot + 1, number.data() + number.size(), minor);
    number = fmt::format("{}.{}", number.substr(0, dot), minor + 1);
  }
  while (!number.empty() && number.back() == '.') {
    number.pop_back();
  }
  return number;
}

engine::EngineOptions options_for(const Recording& recording, const engine::Profile& profile) {
  engine::EngineOptions options = recording.options;
  options.profile = profile;
  options.profile.watermark = recording.watermark;
  options.drafts_read_ahead = options.drafts_read_ahead && profile.spares_prompt_end;
  options.profile.reserve_full_prompt =
      profile.reserve_full_prompt && recording.reserve_full_prompt;
  return options;
}

std::string text_of(const document::Node& node) {
  std::string text;
  switch (node.kind()) {
    case document::Node::Kind::kNull:
      return "null";
    case document::Node::Kind::kBool:
      return node.as_bool() ? "true" : "false";
    case document::Node::Kind::kInteger:
      return std::to_string(node.as_integer());
    case document::Node::Kind::kReal:
      return fmt::format("{}", node.as_real());
    case document::Node::Kind::kString:
      return node.as_string();
    case document::Node::Kind::kList:
      for (const auto& item : node.items()) {
        text += (text.empty() ? "" : " ") + text_of(item);
      }
      return "[" + text + "]";
    case document::Node::Kind::kMap:
      for (const auto& member : node.members()) {
        text += (text.empty() ? "" : " ") + member.key + ":" + text_of(member.value);
      }
      return "{" + text + "}";
  }
  return text;
}

std::string sorted_text_of(const document::Node& node) {
  std::vector<std::string> words;
  if (node.is_map()) {
    for (const auto& member : node.members()) {
      words.push_back(member.key + ":" + text_of(member.value));
    }
  } else if (node.is_list()) {
    for (const auto& item : node.items()) {
      words.push_back(text_of(item));
    }
  } else {
    return text_of(node);
  }
  std::ranges::sort(words);
  return fmt::format(
      "{}{}{}", node.is_map() ? '{' : '[', fmt::join(words, " "), node.is_map() ? '}' : ']');
}

}  // namespace ridgeline::conform
