#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

namespace ridgeline::core {

/// Why a run ended without a result; the command line maps it to its exit code (docs/cli.md).
enum class ErrorCode {
  kUsage,       ///< Bad usage, configuration, input data or path.
  kInfeasible,  ///< A sound request that cannot be met: the model does not fit.
  kInternal,    ///< Our fault.
};

/// The name of an input. Each value of a document carries it, so that copies share one text.
class FileName {
 public:
  FileName() = default;
  // Implicit: a location names its file as any text is named.
  FileName(std::string name)  // NOLINT(google-explicit-constructor)
      : name_(name.empty() ? nullptr : std::make_shared<const std::string>(std::move(name))) {}
  FileName(std::string_view name)  // NOLINT(google-explicit-constructor)
      : FileName(std::string(name)) {}
  FileName(const char* name)  // NOLINT(google-explicit-constructor)
      : FileName(std::string(name)) {}

  [[nodiscard]] bool empty() const { return name_ == nullptr; }
  [[nodiscard]] const std::string& text() const {
    static const std::string kNone;
    return name_ == nullptr ? kNone : *name_;
  }
  operator const std::string&() const { return text(); }  // NOLINT(google-explicit-constructor)
  operator std::string_view() const { return text(); }    // NOLINT(google-explicit-constructor)
  template <std::convertible_to<std::string_view> T>
  friend bool operator==(const FileName& a, const T& b) {
    return std::string_view(a) == std::string_view(b);
  }

 private:
  std::shared_ptr<const std::string> name_;
};

/// Where in a user's input something was found.
struct Location {
  FileName file = {};  ///< Path as the user gave it, "command line", or empty.
  int line = 0;        ///< From 1; 0 when unknown.
  int column = 0;      ///< From 1; 0 when unknown.
};

/// One problem, in one line for a person: what was found, what was expected, and what would help.
struct Error {
  ErrorCode code = ErrorCode::kUsage;
  std::string field =
      {};  ///< Dotted path of the setting or column, e.g. "engine.block_size"; may be empty.
  std::string message = {};  ///< "0 is out of range, expected 1 to 256"
  Location where = {};
  std::string hint = {};  ///< "did you mean 'block_size'?"; may be empty.
};

/// All problems found, never empty where it means failure.
using Errors = std::vector<Error>;

template <class T>
using Result = tl::expected<T, Errors>;

inline tl::unexpected<Errors> fail(Error error) {
  return tl::unexpected<Errors>(Errors{std::move(error)});
}
inline tl::unexpected<Errors> fail(Errors errors) {
  return tl::unexpected<Errors>(std::move(errors));
}
inline tl::unexpected<Errors> fail(ErrorCode code, std::string message) {
  return fail(Error{.code = code, .message = std::move(message)});
}

/// The errors of another layer about the value of a setting: those that name no field get this one.
Errors with_field(Errors errors, const std::string& field);

/// Something the user should know that did not stop the run.
struct Warning {
  std::string code;       ///< Stable, e.g. "W-max-model-len".
  std::string message;    ///< What happened.
  std::string hint = {};  ///< The option that would change it; may be empty.
};
using Warnings = std::vector<Warning>;

/// "file:line:col: field: message (hint)" for logs and tests.
std::string to_string(const Error& error);

}  // namespace ridgeline::core
