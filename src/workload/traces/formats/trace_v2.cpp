// TraceV2 of inference-sim (BLIS): a header in YAML and the data in CSV, beside each other under
// one name. Either file, or a folder with one of each, opens both; data without a header are read
// with its defaults.
//
// input_tokens is the prompt without the shared prefix, which is put in front; where the header
// says session_context_growth: accumulate it is what the turn adds, and the whole conversation,
// answers included, is put in front. Requests are sent at send_time_us, counted from the first, or
// at arrival_time_us where that is missing: both are counted from the start of the run, so that a
// send time of the epoch does not meet an arrival that is none.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/byte_input.hpp"
#include "workload/traces/reading/conversation.hpp"
#include "workload/traces/reading/csv.hpp"
#include "workload/traces/reading/document_lines.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/grouping.hpp"
#include "workload/traces/reading/json_records.hpp"
#include "workload/traces/reading/row_tally.hpp"

namespace ridgeline::workload {
namespace {

enum V2Column : std::size_t {
  kV2RequestId,
  kV2Tenant,
  kV2SloClass,
  kV2Priority,
  kV2Session,
  kV2Round,
  kV2Group,
  kV2PrefixLength,
  kV2Input,
  kV2Output,
  kV2Images,
  kV2Audio,
  kV2Video,
  kV2ReasonRatio,
  kV2Model,
  kV2ServerInput,
  kV2Arrival,
  kV2Send,
  kV2Status,
  kV2Adapter,
  kV2Think,
};
constexpr auto kV2Columns =
    std::to_array<CsvColumn>({{"request_id"},          {"tenant_id", false},
                              {"slo_class", false},    {"vllm_priority", false},
                              {"session_id", false},   {"round_index", false},
                              {"prefix_group", false}, {"prefix_length", false},
                              {"input_tokens"},        {"output_tokens"},
                              {"image_tokens", false}, {"audio_tokens", false},
                              {"video_tokens", false}, {"reason_ratio", false},
                              {"model", false},        {"server_input_tokens", false},
                              {"arrival_time_us"},     {"send_time_us", false},
                              {"status", false},       {"adapter", false},
                              {"think_time_us", false}});

constexpr std::uint64_t kV2Prefixes = 0x7632707265666978;
constexpr std::uint64_t kV2Sessions = 0x763273657373;
/// The length of a prefix whose group has one but whose length is 0 (the origin's default).
constexpr core::Tokens kV2DefaultPrefix{50};

struct V2Row {
  Item item;
  core::Tokens prefix = core::Tokens(0);
  std::uint64_t prefix_content = 0;
  std::int64_t round = 0;
  core::Duration think;
  bool has_think = false;
};

struct V2Header {
  bool accumulate = false;
  std::int64_t warm_up = 0;
};

class V2Parser final : public CsvRowParser {
 public:
  V2Parser() : CsvRowParser(kV2Columns) {}

  V2Row next;
  [[nodiscard]] Labels take_labels() { return std::move(labels_); }
  [[nodiscard]] bool has_send_times() const { return sends_ > 0; }

 private:
  RowStatus read(const TraceLine& line, Cells cells, TraceRow& row) override {
    next = V2Row();
    row = TraceRow();
    bool sound = true;
    const auto count = [&](V2Column column, core::Tokens& value, std::int64_t lowest) {
      if (has(column) && !cells[column].empty()) {
        sound = read_tokens(line, name(column), cells[column], value, lowest) && sound;
      }
    };
    core::Tokens server_input;
    count(kV2Input, row.input_tokens, 0);
    count(kV2Output, row.output_tokens, 0);
    count(kV2PrefixLength, next.prefix, 0);
    count(kV2ServerInput, server_input, 0);
    count(kV2Images, row.image_tokens, 0);
    count(kV2Audio, row.audio_tokens, 0);
    count(kV2Video, row.video_tokens, 0);
    sound = read_times(line, cells, row) && read_session(line, cells, row) && sound;
    row.tenant = label(cells, kV2Tenant);
    row.slo_class = label(cells, kV2SloClass);
    row.model = label(cells, kV2Model);
    row.adapter = label(cells, kV2Adapter);
    const bool grouped = has(kV2Group) && !cells[kV2Group].empty();
    if (grouped) {
      if (next.prefix.value() == 0) {
        next.prefix = kV2DefaultPrefix;
      }
      next.prefix_content =
          content_of(kV2Prefixes, static_cast<std::uint64_t>(groups_.intern(cells[kV2Group])));
    } else {
      next.prefix = core::Tokens(0);
      if (server_input.value() > 0) {
        row.input_tokens = server_input;
      }
    }
    if (!sound) {
      return RowStatus::kBad;
    }
    if (row.output_tokens.value() == 0 || row.input_tokens.value() == 0) {
      return RowStatus::kLeftOut;  // Timed out before its first token, or an error.
    }
    return RowStatus::kRow;
  }

  bool read_times(const TraceLine& line, Cells cells, TraceRow& row) {
    const bool sent = has(kV2Send) && !cells[kV2Send].empty() && cells[kV2Send] != "0";
    // Relative times have at most 13 digits before the point (106 days), those of the epoch 16.
    constexpr std::size_t kMostRelativeDigits = 13;
    const std::string_view arrival = cells[kV2Arrival];
    bool sound =
        arrival.substr(0, arrival.find('.')).size() <= kMostRelativeDigits
            ? read_time(line, name(kV2Arrival), arrival, kMicrosecondsUnit, row.arrival)
            : arrivals_.read(line, name(kV2Arrival), arrival, kMicrosecondsUnit, row.arrival);
    if (sent && sound) {
      core::Duration send;
      sound = clock_.read(line, name(kV2Send), cells[kV2Send], kMicrosecondsUnit, send);
      row.arrival = send;
      ++sends_;
    }
    if (has(kV2Think) && !cells[kV2Think].empty()) {
      next.has_think = true;
      sound =
          read_time(line, name(kV2Think), cells[kV2Think], kMicrosecondsUnit, next.think) && sound;
    }
    return sound;
  }

  bool read_session(const TraceLine& line, Cells cells, TraceRow& row) {
    constexpr std::int64_t kMostNumbers = 1'000'000'000;
    bool sound = true;
    if (has(kV2Session) && !cells[kV2Session].empty()) {
      row.session = sessions_.intern(cells[kV2Session]);
      if (has(kV2Round) && !cells[kV2Round].empty()) {
        sound = read_integer(line, name(kV2Round), cells[kV2Round], 0, kMostNumbers, next.round);
      }
    }
    if (has(kV2Priority) && !cells[kV2Priority].empty()) {
      std::int64_t priority = 0;
      sound =
          read_integer(
              line, name(kV2Priority), cells[kV2Priority], -kMostNumbers, kMostNumbers, priority) &&
          sound;
      row.priority = static_cast<std::int32_t>(priority);
    }
    return sound;
  }

  std::int32_t label(Cells cells, V2Column column) {
    return has(column) ? labels_.intern(cells[column]) : -1;
  }

  Labels sessions_;
  Labels groups_;
  EpochClock arrivals_;
  EpochClock clock_;
  std::int64_t sends_ = 0;
};

/// Reads what of the header matters to the requests; the rest describes the measured server.
core::Result<V2Header> read_v2_header(const std::string& text, const std::string& path) {
  const auto document = document::parse_yaml(text, path);
  if (!document) {
    return core::fail(document.error());
  }
  V2Header header;
  const auto* version = document->find("trace_version");
  if (version == nullptr || !version->is_number()) {
    return core::fail(core::Error{.field = "trace_version",
                                  .message = "found no number, expected 2 or 3",
                                  .where = {.file = path, .line = 1, .column = 1}});
  }
  if (const auto* growth = document->find("session_context_growth");
      growth != nullptr && growth->is_string()) {
    header.accumulate = growth->as_string() == "accumulate";
  }
  if (const auto* warm_up = document->find("warm_up_requests");
      warm_up != nullptr && warm_up->kind() == document::Node::Kind::kInteger) {
    header.warm_up = warm_up->as_integer();
  }
  return header;
}

core::Result<std::string> whole_file(const std::string& path) {
  auto input = open_input(path);
  if (!input) {
    return core::fail(std::move(input.error()));
  }
  return read_whole(**input, path);
}

/// The file beside `path` under the same name with one of these endings.
std::string file_beside(const std::string& path, std::initializer_list<const char*> extensions) {
  namespace fs = std::filesystem;
  std::error_code failure;
  for (const char* const extension : extensions) {
    const fs::path other = fs::path(path).replace_extension(extension);
    if (other != fs::path(path) && fs::is_regular_file(other, failure)) {
      return other.string();
    }
  }
  // "trace_header.yaml" beside "trace_data.csv", and the like.
  const std::string name = fs::path(path).stem().string();
  for (const auto& [from, to] : {std::pair("header", "data"), std::pair("data", "header")}) {
    const std::size_t at = name.find(from);
    if (at == std::string::npos) {
      continue;
    }
    std::string renamed = name;
    renamed.replace(at, std::string_view(from).size(), to);
    for (const char* const extension : extensions) {
      const fs::path other = fs::path(path).parent_path() / (renamed + extension);
      if (fs::is_regular_file(other, failure)) {
        return other.string();
      }
    }
  }
  return {};
}

/// The prompts of a session's rounds, from what each row says of its own.
class V2Sessions {
 public:
  V2Sessions(bool accumulate, SessionTimes times) : accumulate_(accumulate), times_(times) {}

  void add(V2Row row, std::int64_t number) {
    LooseItem next;
    const auto place = static_cast<std::uint32_t>(loose_.size());
    next.row = number;
    next.item = std::move(row.item);
    Item& item = next.item;
    if (item.session < 0) {
      Conversation alone(content_of(kV2Sessions, place));
      fill(item, row, alone);
    } else {
      auto [at, is_first] = sessions_.try_emplace(
          item.session, State{.talk = Conversation(content_of(kV2Sessions, place))});
      State& state = at->second;
      if (!accumulate_) {
        state.talk.clear();
      }
      fill(item, row, state.talk);
      state.talk.add_answer(place, item.output_tokens);
      item.turn = static_cast<std::int32_t>(row.round);
      next.follows = state.last;
      if (!is_first && times_ == SessionTimes::kAnswered) {
        next.waits_for_previous = true;
        next.is_timed = false;
        item.delay = row.think;
      }
      state.last = place;
    }
    loose_.push_back(std::move(next));
  }
  [[nodiscard]] std::vector<LooseItem> take() { return std::move(loose_); }
  [[nodiscard]] bool any() const { return !sessions_.empty(); }

 private:
  struct State {
    Conversation talk;
    std::int64_t last = -1;
  };

  static void fill(Item& item, const V2Row& row, Conversation& talk) {
    if (talk.length().value() == 0 && row.prefix.value() > 0) {
      talk.add_shared(row.prefix_content, row.prefix);
    }
    talk.add_own(item.input_tokens);
    item.prompt = talk.prompt();
    item.input_tokens = talk.length();
  }

  bool accumulate_;
  SessionTimes times_;
  std::map<std::int32_t, State> sessions_;
  std::vector<LooseItem> loose_;
};

core::Result<std::unique_ptr<ItemStream>> read_v2_data(const TraceDocument& document,
                                                       const V2Header& header) {
  RowTally tally(document.skip_bad_rows);
  V2Parser parser;
  V2Sessions sessions(header.accumulate, document.session_times);
  bool has_header = false;
  std::int64_t left_out = 0;
  for_each_line(
      document.text, document.path, tally, [&](const TraceLine& line, std::int64_t number) {
        if (!has_header) {
          has_header = parser.header(line);
          return;
        }
        Item item;
        const RowStatus status = parser.row(line, item);
        left_out += status == RowStatus::kLeftOut ? 1 : 0;
        if (status == RowStatus::kRow) {
          parser.next.item = std::move(item);
          sessions.add(std::move(parser.next), number);
        }
      });
  ItemList list;
  auto loose = sessions.take();
  list.warnings = sorting_warnings(loose);
  list.items = grouped(std::move(loose), document.path, tally);
  list.labels = parser.take_labels();
  if (left_out > 0) {
    list.warnings.push_back(
        {.code = "W-failed-requests",
         .message = fmt::format("left out: {} {} without tokens, a failed request each",
                                left_out,
                                core::plural("row", left_out))});
  }
  if (document.session_times == SessionTimes::kAnswered && !sessions.any()) {
    list.warnings.push_back(no_turns_to_wait("no request of the file has a session_id"));
  }
  if (header.warm_up > 0) {
    list.warnings.push_back(
        {.code = "W-warm-up",
         .message =
             fmt::format("the header marks {} {} as warm-up, which is replayed and counted like "
                         "the others",
                         header.warm_up,
                         core::plural("request", header.warm_up))});
  }
  if (parser.has_send_times()) {
    list.warnings.push_back(
        {.code = "W-blis-send-times",
         .message = "requests are sent at send_time_us counted from the first one; inference-sim "
                    "mixes times of the epoch with relative arrivals (its issue 1606)"});
  }
  if (header.accumulate) {
    list.warnings.push_back(
        {.code = "W-blis-context",
         .message = "a conversation keeps all tokens of its answers; inference-sim loses the last "
                    "one of each round"});
  }
  return finish_document(std::move(list), document, tally);
}

core::Result<std::unique_ptr<ItemStream>> read_trace_v2(TraceDocument document) {
  const bool is_data = TraceHead(document.text).has_column("arrival_time_us");
  V2Header header;
  if (is_data) {
    const std::string beside = file_beside(document.path, {".yaml", ".yml"});
    if (!beside.empty()) {
      const auto text = whole_file(beside);
      if (!text) {
        return core::fail(text.error());
      }
      const auto read = read_v2_header(*text, beside);
      if (!read) {
        return core::fail(read.error());
      }
      header = *read;
    }
    return read_v2_data(document, header);
  }
  const auto read = read_v2_header(document.text, document.path);
  if (!read) {
    return core::fail(read.error());
  }
  const std::string beside = file_beside(document.path, {".csv", ".csv.gz"});
  if (beside.empty()) {
    return core::fail(core::Error{.message = "found the header of a TraceV2 without its data, "
                                             "expected a .csv of the same name beside it",
                                  .where = {.file = document.path}});
  }
  auto text = whole_file(beside);
  if (!text) {
    return core::fail(std::move(text.error()));
  }
  document.text = std::move(*text);
  document.path = beside;
  return read_v2_data(document, *read);
}

std::string v2_file_of_folder(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failure;
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(path, failure)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".csv") && !file_beside(entry.path().string(), {".yaml", ".yml"}).empty()) {
      files.push_back(entry.path().string());
    }
  }
  return files.size() == 1 ? files.front() : std::string();
}

class TraceV2Writer final : public TraceWriter {
 public:
  void begin(std::ostream& out, const ItemStream& stream) override {
    stream_ = &stream;
    out << "request_id,client_id,tenant_id,slo_class,vllm_priority,session_id,round_index,"
           "prefix_group,prefix_length,streaming,input_tokens,output_tokens,text_tokens,"
           "image_tokens,audio_tokens,video_tokens,reason_ratio,model,deadline_us,"
           "server_input_tokens,arrival_time_us,send_time_us,first_chunk_time_us,"
           "last_chunk_time_us,num_chunks,status,error_message,finish_reason,adapter\n";
  }
  void write(std::ostream& out, const Item& item) override {
    const auto label = [&](std::int32_t number) {
      return number < 0 ? std::string() : core::csv_cell(stream_->labels().name(number));
    };
    const std::int64_t modal =
        item.image_tokens.value() + item.audio_tokens.value() + item.video_tokens.value();
    const double ratio = static_cast<double>(item.reasoning_tokens.value()) /
                         static_cast<double>(item.output_tokens.value());
    out << fmt::format(
        "{},,{},{},{},{},{},,0,true,{},{},{},{},{},{},{},{},0,0,{},0,0,0,0,ok,,,{}\n",
        count_++,
        label(item.tenant),
        label(item.slo_class),
        item.priority,
        item.session < 0 ? "" : fmt::format("s{}", item.session),
        item.turn,
        item.input_tokens.value(),
        item.output_tokens.value(),
        std::max<std::int64_t>(item.input_tokens.value() - modal, 0),
        item.image_tokens.value(),
        item.audio_tokens.value(),
        item.video_tokens.value(),
        core::shortest(ratio),
        label(item.model),
        time_text(item.arrival, kMicrosecondsUnit),
        label(item.adapter));
  }

 private:
  const ItemStream* stream_ = nullptr;
  std::int64_t count_ = 0;
};

}  // namespace

const TraceFormat kTraceV2 = {
    .name = "trace-v2",
    .summary = "inference-sim's TraceV2: a YAML header and CSV data beside each other",
    .detect =
        [](const TraceHead& head) {
          return head.has_columns({"request_id", "arrival_time_us"}) ||
                 head.has_yaml_key("trace_version");
        },
    .open_document = read_trace_v2,
    .heeds_session_times = true,
    .file_of_folder = v2_file_of_folder,
    .make_writer = [] { return std::unique_ptr<TraceWriter>(std::make_unique<TraceV2Writer>()); },
    .carries = fields({Field::kArrival,
                       Field::kFineTime,
                       Field::kSession,
                       Field::kPriority,
                       Field::kReasoning,
                       Field::kSloClass,
                       Field::kTenant,
                       Field::kModel,
                       Field::kAdapter}),
};

}  // namespace ridgeline::workload
