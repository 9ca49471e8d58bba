#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/result.hpp"

namespace ridgeline::document {

/// A value read from YAML or JSON that remembers where it stood. Maps keep their order and their
/// duplicate keys: the reader (document/reader.hpp) refuses those, and can say where both are.
class Node {
 public:
  enum class Kind : std::uint8_t {
    kNull,
    kBool,
    kInteger,
    kReal,
    kString,
    kList,
    kMap
  };  // As Value.
  struct Member;

  Node() = default;
  static Node null(core::Location where);
  static Node boolean(bool value, core::Location where);
  static Node integer(std::int64_t value, core::Location where);
  static Node real(double value, core::Location where);
  static Node string(std::string value, core::Location where);
  static Node list(std::vector<Node> items, core::Location where);
  static Node map(std::vector<Member> members, core::Location where);

  [[nodiscard]] Kind kind() const { return static_cast<Kind>(value_.index()); }
  [[nodiscard]] bool is_null() const { return kind() == Kind::kNull; }
  [[nodiscard]] bool is_map() const { return kind() == Kind::kMap; }
  [[nodiscard]] bool is_list() const { return kind() == Kind::kList; }
  [[nodiscard]] bool is_string() const { return kind() == Kind::kString; }
  [[nodiscard]] bool is_number() const { return kind() == Kind::kInteger || kind() == Kind::kReal; }

  /// Each requires the matching kind (checked); as_real also takes integers.
  [[nodiscard]] bool as_bool() const;
  [[nodiscard]] std::int64_t as_integer() const;
  [[nodiscard]] double as_real() const;
  [[nodiscard]] const std::string& as_string() const;
  [[nodiscard]] const std::vector<Node>& items() const;
  [[nodiscard]] const std::vector<Member>& members() const;

  /// The first member of that key, or nullptr; nullptr for anything that is not a map.
  [[nodiscard]] const Node* find(std::string_view key) const;
  [[nodiscard]] const core::Location& where() const { return where_; }
  /// A short quotation of the value for error messages: `"text"`, `12`, `a map`, `a list`.
  [[nodiscard]] std::string describe() const;

 private:
  /// In the order of Kind.
  using Value = std::variant<std::monostate,
                             bool,
                             std::int64_t,
                             double,
                             std::string,
                             std::vector<Node>,
                             std::vector<Member>>;

  Node(Value value, core::Location where);
  template <class T>
  [[nodiscard]] const T& held() const;

  Value value_;
  core::Location where_;
};

struct Node::Member {
  std::string key;
  Node value;
  core::Location where;  ///< Place of the key.
};

// Not inside the class: there Member is still incomplete, and with it every constructor and
// destructor of Node.
inline Node::Node(Value value, core::Location where)
    : value_(std::move(value)), where_(std::move(where)) {}
inline Node Node::null(core::Location where) {
  return {Value(), std::move(where)};
}

/// Limits against hostile input. YAML has a lower one of its own: yaml-cpp takes some 250 bytes of
/// memory for a byte of text, and a value some 200.
inline constexpr std::size_t kMaxDocumentBytes = std::size_t{16} * 1024 * 1024;
inline constexpr std::size_t kMaxYamlBytes = std::size_t{1024} * 1024;
inline constexpr int kMaxDocumentDepth = 64;                 ///< Maps and lists within each other.
inline constexpr std::size_t kMaxDocumentNodes = 1'000'000;  ///< Values of all kinds.

/// What to do with NaN, Infinity and -Infinity, which are not JSON but which Python's writer leaves
/// in some published config.json files.
enum class NonFinite : std::uint8_t { kRefuse, kReadAsNull };

/// Parses JSON (RFC 8259, strict) or YAML 1.2's plain part (no anchors, aliases, tags or several
/// documents; booleans are true and false only; numbers are finite, and integers beyond int64
/// become reals). `file` names the text in errors. A byte order mark is skipped; an empty text is
/// an error.
core::Result<Node> parse_json(std::string_view text,
                              const std::string& file,
                              NonFinite non_finite = NonFinite::kRefuse);
core::Result<Node> parse_yaml(std::string_view text, const std::string& file);

/// What of a JSON text is read, for measured files whose lists are long and mostly of no interest.
struct JsonOptions {
  NonFinite non_finite = NonFinite::kRefuse;
  std::size_t most_bytes = kMaxDocumentBytes;
  std::span<const std::string_view> stepped_over = {};  ///< Members of these keys are left out.
  /// Lists of these keys keep their first and their last item.
  std::span<const std::string_view> ends_of = {};
};
core::Result<Node> parse_json(std::string_view text,
                              const std::string& file,
                              const JsonOptions& options);

/// Reads a file and parses it as JSON when its name ends in .json, as YAML otherwise. `non_finite`
/// is for JSON.
core::Result<Node> read_document(const std::string& path,
                                 NonFinite non_finite = NonFinite::kRefuse);
/// The bytes of a file, or why not; refuses folders and files above `limit` bytes.
core::Result<std::string> read_file(const std::string& path, std::size_t limit = kMaxDocumentBytes);

}  // namespace ridgeline::document
