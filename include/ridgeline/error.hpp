#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

/// What the shared library exports of its C++ names.
#if defined(__GNUC__)
#define RIDGELINE_EXPORTED __attribute__((visibility("default")))
#else
#define RIDGELINE_EXPORTED
#endif

namespace ridgeline {
inline namespace v0 {

/// Why there is no result; the command line ends with the same number (docs/cli.md).
enum class ErrorCode {
  kUsage = 2,       ///< Bad configuration, input data or path.
  kInfeasible = 4,  ///< A sound request that cannot be met: the network does not fit.
  kInternal = 70,   ///< A fault of the library: a check that failed, or no memory.
};

/// One problem, in one line for a person: what was found, what was expected, and what would help.
struct Error {
  ErrorCode code = ErrorCode::kUsage;
  std::string field;    ///< Dotted path of the setting, "engine.block_size"; may be empty.
  std::string message;  ///< "0 is out of range, expected 1 to 256"
  std::string file;     ///< Where it was found; empty where that is no file.
  int line = 0;         ///< From 1; 0 where unknown.
  int column = 0;       ///< From 1; 0 where unknown.
  std::string hint;     ///< "did you mean 'block_size'?"; may be empty.
};

/// All problems found, never empty where it means failure.
using Errors = std::vector<Error>;

/// A value, or why there is none. Asking for the value where there is none throws
/// std::bad_variant_access.
template <class T>
class Expected {
 public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(Errors errors) : state_(std::in_place_index<1>, std::move(errors)) {}

  [[nodiscard]] explicit operator bool() const { return state_.index() == 0; }
  [[nodiscard]] const T& operator*() const { return std::get<0>(state_); }
  [[nodiscard]] T& operator*() { return std::get<0>(state_); }
  [[nodiscard]] const T* operator->() const { return &std::get<0>(state_); }
  [[nodiscard]] const Errors& errors() const { return std::get<1>(state_); }

 private:
  std::variant<T, Errors> state_;
};

}  // namespace v0
}  // namespace ridgeline
