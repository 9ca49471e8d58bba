#pragma once

#include <initializer_list>
#include <string_view>

namespace ridgeline::cli {

/// Removes the outputs that are not complete, writes the pieces to standard error and ends the
/// process, without destructors. Allocates nothing; a signal handler may call it.
[[noreturn]] void end_at_once(int exit_status, std::initializer_list<std::string_view> pieces);

/// From here on a failed check, an exception that nothing catches and a lack of memory remove the
/// outputs that are not complete, say so on standard error and end the process with 70.
void handle_faults();

/// What would need less memory, for the message when there is none left; it must outlive the
/// process. Empty for nothing.
void set_memory_hint(std::string_view hint);

}  // namespace ridgeline::cli
