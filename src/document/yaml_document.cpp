#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "document/document.hpp"
#include "document/yaml_documents.hpp"

namespace ridgeline::document {
namespace {

/// What yaml-cpp calls the tag of a value that the file gives none.
constexpr std::string_view kPlainTag = "?";
constexpr std::string_view kQuotedTag = "!";

constexpr std::string_view kMergeKey = "<<";
/// Values that the aliases of a text may stand for.
constexpr std::size_t kMaxAliasNodes = 100'000;

/// A control character that JSON allows in a string, and YAML nowhere.
constexpr char kDelete = 0x7F;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t skip_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) {
    ++at;
  }
  return at;
}

struct NumberShape {
  bool is_integer = false;
  bool is_real = false;
  std::string_view digits;  ///< Before the point.
};

/// The core schema's decimal numbers (YAML 1.2.2, section 10.3.2): [-+] digits, and [-+] digits
/// with a point on either side of which digits may be absent, with an exponent.
NumberShape shape_of(std::string_view text) {
  const std::size_t start = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  std::size_t at = skip_digits(text, start);
  NumberShape shape{.digits = text.substr(start, at - start)};
  std::size_t digits = at - start;
  if (at == text.size()) {
    shape.is_integer = digits > 0;
    return shape;
  }
  if (text[at] == '.') {
    const std::size_t fraction = skip_digits(text, at + 1);
    digits += fraction - at - 1;
    at = fraction;
  }
  if (digits > 0 && at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    const std::size_t sign = at + 1;
    const bool signed_exponent = sign < text.size() && (text[sign] == '-' || text[sign] == '+');
    const std::size_t exponent = sign + (signed_exponent ? 1 : 0);
    at = skip_digits(text, exponent);
    digits = at - exponent;
  }
  shape.is_real = digits > 0 && at == text.size();
  return shape;
}

/// "1_000": a number to other readers of YAML, text to this one.
bool is_grouped_number(std::string_view text) {
  if (text.starts_with('_') || text.find('_') == std::string_view::npos) {
    return false;
  }
  std::string plain(text);
  std::erase(plain, '_');
  const NumberShape shape = shape_of(plain);
  return shape.is_integer || shape.is_real;
}

bool is_yaml_non_finite(std::string_view text) {
  static constexpr std::array<std::string_view, 6> kNames = {
      ".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"};
  if (text.starts_with('-') || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  return std::find(kNames.begin(), kNames.end(), text) != kNames.end();
}

/// Whether the quoted text that opens at `at` has its closing quote. yaml-cpp takes the end of the
/// file for one.
bool quote_closes(std::string_view text, std::size_t at) {
  const char mark = text[at];
  for (++at; at < text.size(); ++at) {
    if (mark == '"' && text[at] == '\\') {
      ++at;
    } else if (text[at] == mark) {
      if (mark == '"' || at + 1 == text.size() || text[at + 1] != mark) {
        return true;
      }
      ++at;  // '' is a quote inside single quotes
    }
  }
  return false;
}

enum class YamlOf : std::uint8_t { kOurs, kOthers };

/// Builds the tree from yaml-cpp's events. Events cannot be refused, so the first problem is kept
/// and whatever follows it is ignored.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, const std::string& file, YamlOf origin)
      : text_(text), positions_(text), file_(file), is_ours_(origin == YamlOf::kOurs) {}

  [[nodiscard]] const std::optional<core::Error>& problem() const { return problem_; }
  [[nodiscard]] std::vector<Node> take_roots() { return std::move(roots_); }
  [[nodiscard]] int documents() const { return documents_; }

  void note(const YAML::Mark& mark, std::string message, std::string hint = {}) {
    if (!problem_) {
      problem_ = core::Error{
          .message = std::move(message), .where = location(mark), .hint = std::move(hint)};
    }
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1 && is_ours_) {
      note(mark, "text after the end of the document", "a file holds one document");
    }
    anchors_.clear();
  }
  void OnDocumentEnd() override {}

  void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
    if (is_ours_) {
      note(mark,
           fmt::format("anchor {} is not supported", core::quote(name)),
           "write the value out");
    }
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (is_ours_ || found == anchors_.end()) {
      note(mark, "aliases are not supported", "write the value out");
    } else if (!problem_ && expects_key()) {
      note(mark, "expected a key, found an alias");
    } else if (!problem_) {
      expanded_ += count_of(found->second);
      if (expanded_ > kMaxAliasNodes) {
        note(mark, fmt::format("aliases stand for more than {} values", kMaxAliasNodes));
      } else {
        add(Node(found->second), 0);
      }
    }
  }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (problem_) {
      return;
    }
    if (expects_key()) {
      note(mark, "expected a key, found none or null");
      return;
    }
    // yaml-cpp puts an absent value where the next token stands: its key tells more.
    const bool in_map = !frames_.empty() && frames_.back().is_map;
    add(Node::null(in_map ? frames_.back().key_where : location(mark)), anchor);
  }

  void OnScalar(const YAML::Mark& mark,
                const std::string& tag,
                YAML::anchor_t anchor,
                const std::string& value) override {
    if (problem_ || refuse_tag(mark, tag)) {
      return;
    }
    const std::size_t at = offset(mark);
    const bool quoted = at < text_.size() && (text_[at] == '"' || text_[at] == '\'');
    if (quoted && !quote_closes(text_, at)) {
      note(mark, "a quoted text is never closed");
      return;
    }
    if (expects_key()) {
      add_key(mark, tag, value);
      return;
    }
    add(tag == kQuotedTag ? Node::string(value, location(mark)) : plain(mark, value), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark,
                       const std::string& tag,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, anchor, false);
  }
  void OnMapStart(const YAML::Mark& mark,
                  const std::string& tag,
                  YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, anchor, true);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  /// A list or map that is being filled.
  struct Frame {
    bool is_map = false;
    core::Location where;
    YAML::anchor_t anchor = 0;
    std::vector<Node> items = {};
    std::vector<Node::Member> members = {};
    std::optional<std::string> key = {};
    core::Location key_where = {};
  };

  [[nodiscard]] bool expects_key() const {
    return !frames_.empty() && frames_.back().is_map && !frames_.back().key;
  }

  bool refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    const std::size_t at = offset(mark);
    // The tag "!" alone looks like the one of quoted text, but for the source.
    const bool written = at < text_.size() && text_[at] == '!';
    if (!written && (tag == kPlainTag || tag == kQuotedTag)) {
      return false;
    }
    note(
        mark, fmt::format("tag {} is not supported", core::quote(tag)), "quotes make a value text");
    return true;
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, bool is_map) {
    if (problem_ || refuse_tag(mark, tag)) {
      return;
    }
    if (expects_key()) {
      note(mark, fmt::format("expected a key, found a {}", is_map ? "map" : "list"));
    } else if (frames_.size() >= static_cast<std::size_t>(kMaxDocumentDepth)) {
      note(mark, fmt::format("nests deeper than {} levels", kMaxDocumentDepth));
    } else {
      frames_.push_back({.is_map = is_map, .where = location(mark), .anchor = anchor});
    }
  }

  void close() {
    if (problem_) {
      return;
    }
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    add(frame.is_map ? Node::map(merged(std::move(frame.members)), std::move(frame.where))
                     : Node::list(std::move(frame.items), std::move(frame.where)),
        frame.anchor);
  }

  /// The members with those of the maps behind "<<", which lose against their own.
  [[nodiscard]] std::vector<Node::Member> merged(std::vector<Node::Member> members) const {
    if (is_ours_) {
      return members;
    }
    std::vector<Node::Member> whole;
    std::vector<Node> bases;
    for (Node::Member& member : members) {
      if (member.key != kMergeKey) {
        whole.push_back(std::move(member));
      } else if (member.value.is_list()) {
        bases.insert(bases.end(), member.value.items().begin(), member.value.items().end());
      } else {
        bases.push_back(std::move(member.value));
      }
    }
    for (const Node& base : bases) {
      for (const Node::Member& member :
           base.is_map() ? base.members() : std::vector<Node::Member>()) {
        if (std::ranges::find(whole, member.key, &Node::Member::key) == whole.end()) {
          whole.push_back(member);
        }
      }
    }
    return whole;
  }

  static std::size_t count_of(const Node& node) {
    std::size_t count = 1;
    if (node.is_map()) {
      for (const Node::Member& member : node.members()) {
        count += count_of(member.value);
      }
    } else if (node.is_list()) {
      for (const Node& item : node.items()) {
        count += count_of(item);
      }
    }
    return count;
  }

  void add_key(const YAML::Mark& mark, const std::string& tag, const std::string& key) {
    if (key == kMergeKey && tag == kPlainTag && is_ours_) {
      note(mark, "merge keys are not supported", "write the keys out");
      return;
    }
    frames_.back().key = key;
    frames_.back().key_where = location(mark);
  }

  void add(Node node, YAML::anchor_t anchor) {
    if (problem_) {
      return;
    }
    if (anchor != 0) {
      anchors_[anchor] = node;
    }
    if (++nodes_ > kMaxDocumentNodes) {
      problem_ = core::Error{.message = fmt::format("holds more than {} values", kMaxDocumentNodes),
                             .where = node.where()};
      return;
    }
    if (frames_.empty()) {
      roots_.push_back(std::move(node));
      return;
    }
    Frame& frame = frames_.back();
    if (frame.is_map) {
      frame.members.push_back({*std::move(frame.key), std::move(node), frame.key_where});
      frame.key.reset();
    } else {
      frame.items.push_back(std::move(node));
    }
  }

  /// A value without quotes: whatever it looks like. What is no value to us is text in the files
  /// of others.
  Node plain(const YAML::Mark& mark, const std::string& value) {
    if (value == "true" || value == "false") {
      return Node::boolean(value == "true", location(mark));
    }
    if (is_yaml_non_finite(value)) {
      refuse(mark, fmt::format("{} is not finite", value), "null stands for no limit");
    } else if (is_grouped_number(value)) {
      std::string digits = value;
      std::erase(digits, '_');
      refuse(mark,
             fmt::format("{} is not a number", core::quote(value)),
             fmt::format("write {}, or quotes around it for text", digits));
    } else if (const NumberShape shape = shape_of(value); shape.is_integer || shape.is_real) {
      return number(mark, value, shape);
    }
    return Node::string(value, location(mark));
  }

  Node number(const YAML::Mark& mark, const std::string& value, const NumberShape& shape) {
    if (shape.digits.size() > 1 && shape.digits.starts_with('0')) {
      refuse(mark, fmt::format("{} starts with a zero", value), "quotes make it text");
      return Node::string(value, location(mark));
    }
    const std::string_view digits = std::string_view(value).substr(value.starts_with('+') ? 1 : 0);
    const char* const end = digits.data() + digits.size();
    std::int64_t integer = 0;
    if (shape.is_integer && std::from_chars(digits.data(), end, integer).ec == std::errc()) {
      return Node::integer(integer, location(mark));
    }
    double real = 0.0;
    if (std::from_chars(digits.data(), end, real).ec != std::errc()) {
      refuse(mark, fmt::format("{} is outside the range of a double", core::quote(value)));
      return Node::string(value, location(mark));
    }
    return Node::real(real, location(mark));
  }

  /// A problem in a file of ours.
  void refuse(const YAML::Mark& mark, std::string message, std::string hint = {}) {
    if (is_ours_) {
      note(mark, std::move(message), std::move(hint));
    }
  }

  [[nodiscard]] static std::size_t offset(const YAML::Mark& mark) {
    return mark.pos < 0 ? 0 : static_cast<std::size_t>(mark.pos);
  }

  core::Location location(const YAML::Mark& mark) {
    const auto position = positions_.at(offset(mark));
    return {.file = file_, .line = position.line, .column = position.column};
  }

  std::string_view text_;
  core::TextPositions positions_;
  core::FileName file_;
  std::optional<core::Error> problem_;
  std::vector<Frame> frames_;
  std::vector<Node> roots_;
  std::map<YAML::anchor_t, Node> anchors_;  ///< Anchors of the document that is read.
  std::size_t nodes_ = 0;
  std::size_t expanded_ = 0;  ///< Values that aliases stand for.
  int documents_ = 0;
  bool is_ours_;
};

struct Wording {
  std::string_view theirs;
  std::string_view message;
  std::string_view hint;
};

/// The tab that indents the line of an offset, if one does.
std::optional<std::size_t> indenting_tab(std::string_view text, std::size_t at) {
  const std::size_t line_break = text.substr(0, std::min(at, text.size())).rfind('\n');
  const std::size_t start = line_break == std::string_view::npos ? 0 : line_break + 1;
  const std::size_t tab = text.find_first_not_of(' ', start);
  return tab != std::string_view::npos && text[tab] == '\t' ? std::optional(tab) : std::nullopt;
}

void note_exception(TreeBuilder& builder, const YAML::Exception& exception, std::string_view text) {
  // Messages that mislead, in our words.
  static const std::array<Wording, 9> kWordings = {{
      {YAML::ErrorMsg::TAB_IN_INDENTATION, "a tab indents the line", "indent with spaces"},
      {YAML::ErrorMsg::MAP_VALUE,
       "unexpected ':'",
       "check the indentation, and quote text that holds ': '"},
      {YAML::ErrorMsg::END_OF_MAP, "expected the next key or less indentation", ""},
      {YAML::ErrorMsg::END_OF_SEQ, "expected the next item or less indentation", ""},
      {YAML::ErrorMsg::END_OF_MAP_FLOW, "expected ',' or '}'", ""},
      {YAML::ErrorMsg::END_OF_SEQ_FLOW, "expected ',' or ']'", ""},
      {YAML::ErrorMsg::EOF_IN_SCALAR, "a quoted text is never closed", ""},
      {YAML::ErrorMsg::UNKNOWN_ANCHOR, "aliases are not supported", "write the value out"},
      {YAML::ErrorMsg::UNKNOWN_TOKEN,
       "a value starts with a character that YAML reserves",
       "quotes make it text"},
  }};
  const auto* const wording =
      std::find_if(kWordings.begin(), kWordings.end(), [&exception](const Wording& candidate) {
        return candidate.theirs == exception.msg;
      });
  const bool has_place = exception.mark.pos >= 0;
  if (const auto tab = has_place ? indenting_tab(text, static_cast<std::size_t>(exception.mark.pos))
                                 : std::nullopt) {
    YAML::Mark mark = exception.mark;
    mark.pos = static_cast<int>(*tab);
    builder.note(mark, "a tab indents the line", "indent with spaces");
  } else if (wording == kWordings.end()) {
    builder.note(exception.mark, fmt::format("not valid YAML: {}", core::quote(exception.msg)));
  } else {
    builder.note(exception.mark, std::string(wording->message), std::string(wording->hint));
  }
}

/// YAML has no control characters; yaml-cpp takes some for the end of the text or another encoding.
std::size_t first_control_character(std::string_view text) {
  const auto found = std::find_if(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == kDelete;
  });
  return static_cast<std::size_t>(found - text.begin());
}

tl::unexpected<core::Errors> fail_at(std::string_view text,
                                     std::size_t at,
                                     const std::string& file,
                                     std::string message) {
  const auto position = core::TextPositions(text).at(at);
  return core::fail(
      core::Error{.message = std::move(message),
                  .where = {.file = file, .line = position.line, .column = position.column}});
}

}  // namespace

namespace {

core::Result<std::vector<Node>> parse(std::string_view text,
                                      const std::string& file,
                                      YamlOf origin) {
  if (text.size() > kMaxYamlBytes) {
    return core::fail(
        core::Error{.message = fmt::format("is larger than the limit of {} bytes", kMaxYamlBytes),
                    .where = {.file = file},
                    .hint = fmt::format("JSON may take {}", kMaxDocumentBytes)});
  }
  text = core::without_byte_order_mark(text);
  // JSON is YAML, too, and read some thirty times as fast, but for one character. What is not JSON
  // gets YAML's messages.
  if (const std::size_t start = text.find_first_not_of(" \t\r\n");
      start != std::string_view::npos && (text[start] == '{' || text[start] == '[') &&
      text.find(kDelete) == std::string_view::npos) {
    if (auto json = parse_json(text, file)) {
      std::vector<Node> roots;  // A list in braces would copy the tree.
      roots.push_back(std::move(*json));
      return roots;
    }
  }
  if (const std::size_t valid = core::valid_utf8_prefix(text); valid < text.size()) {
    return fail_at(text.substr(0, valid), valid, file, "invalid UTF-8");
  }
  if (const std::size_t at = first_control_character(text); at < text.size()) {
    return fail_at(text, at, file, "a control character, which YAML does not allow");
  }
  TreeBuilder builder(text, file, origin);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (!builder.problem() && parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& exception) {
    note_exception(builder, exception, text);
  } catch (const std::exception& exception) {
    builder.note(YAML::Mark(), fmt::format("cannot be read: {}", exception.what()));
  }
  if (builder.problem()) {
    return core::fail(*builder.problem());
  }
  if (builder.documents() == 0) {
    return fail_at(text, 0, file, "is empty, expected a YAML document");
  }
  return builder.take_roots();
}

}  // namespace

core::Result<Node> parse_yaml(std::string_view text, const std::string& file) {
  auto roots = parse(text, file, YamlOf::kOurs);
  if (!roots) {
    return core::fail(std::move(roots).error());
  }
  return roots->empty() ? Node() : std::move(roots->front());
}

core::Result<std::vector<Node>> parse_yaml_documents(std::string_view text,
                                                     const std::string& file) {
  return parse(text, file, YamlOf::kOthers);
}

}  // namespace ridgeline::document
