#pragma once

#include <string>
#include <type_traits>

#include "core/result.hpp"

namespace ridgeline::core {

/// A shared library of the system, loaded where it is needed and never unloaded: linked, it and
/// what it needs would slow every start of the program, and the program would not start without.
class SystemLibrary {
 public:
  /// `file` is the name that the linker knows, with its version ("libzmq.so.5"), `package` the
  /// Debian package that has it, `need` what cannot be done without ("KV events need").
  SystemLibrary(const char* file, const char* package, const char* need);

  /// Sets `function` to the library's function of this name. The caller vouches for its type.
  template <class Function>
  void find(const char* name, Function*& function) {
    static_assert(std::is_function_v<Function>);
    // As POSIX words the conversion of a symbol to a function (dlsym, "Application usage").
    *reinterpret_cast<void**>(&function) = symbol(name);
  }
  /// From here on it cannot be used, for this reason.
  void refuse(std::string problem);
  /// Fails where the library, or one of the functions looked for, is not there.
  [[nodiscard]] Result<void> check() const;

 private:
  void* symbol(const char* name);

  const char* file_;
  const char* package_;
  void* handle_;
  std::string problem_;  ///< The first; empty: it can be used.
};

}  // namespace ridgeline::core
