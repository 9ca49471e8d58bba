#include "cli/faults.hpp"

#include <exception>
#include <initializer_list>
#include <new>
#include <string_view>
#include <unistd.h>

#include "cli/exit_code.hpp"
#include "core/check.hpp"
#include "core/fault.hpp"
#include "document/temporary.hpp"

namespace ridgeline::cli {

namespace {

std::string_view& memory_hint() {
  static std::string_view hint;
  return hint;
}

constexpr int kFault = static_cast<int>(ExitCode::kInternal);

[[noreturn]] void no_memory(std::string_view purpose) {
  const std::string_view hint = memory_hint();
  end_at_once(kFault,
              {"error: out of memory",
               purpose.empty() ? "" : " for ",
               purpose,
               hint.empty() ? "\n" : "\nhint: ",
               hint,
               hint.empty() ? "" : "\n"});
}

void on_fault(const core::Fault& fault) {
  if (fault.kind == core::Fault::Kind::kOutOfMemory) {
    no_memory(fault.text);
  }
  end_at_once(kFault, {"error: a fault of this program: ", fault.text, "\n"});
}

void on_failed_new() {
  no_memory({});
}

void on_terminate() {
  const auto say = [](std::string_view what) {
    end_at_once(kFault, {"error: a fault of this program: ", what, "\n"});
  };
  try {
    if (const auto current = std::current_exception()) {
      std::rethrow_exception(current);
    }
  } catch (const std::exception& problem) {
    say(problem.what());
  } catch (...) {
    say("an exception without a text");
  }
  say("it ended without a reason");
}

}  // namespace

void end_at_once(int exit_status, std::initializer_list<std::string_view> pieces) {
  document::remove_temporaries();
  for (const std::string_view piece : pieces) {
    static_cast<void>(!write(STDERR_FILENO, piece.data(), piece.size()));
  }
  _exit(exit_status);
}

void handle_faults() {
  core::set_fault_handler(on_fault);
  std::set_new_handler(on_failed_new);
  std::set_terminate(on_terminate);
}

void set_memory_hint(std::string_view hint) {
  memory_hint() = hint;
}

}  // namespace ridgeline::cli

#if defined(_GLIBCXX_ASSERTIONS) && defined(_GLIBCXX_VERBOSE_ASSERT)
/// The checks of the library's containers (an index past the end, the first element of none) end
/// the program as ours do: this definition goes before that of libstdc++, which aborts.
void std::__glibcxx_assert_fail(  // NOLINT(bugprone-reserved-identifier,cert-dcl58-cpp)
    const char* file,
    int line,
    const char* function,
    const char* condition) noexcept {
  ridgeline::core::check_failed(condition, file, line, function);
}
#endif
