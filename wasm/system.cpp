#include <cstddef>

/// wasi-libc declares it and does not have it: a module is on no host that has a name.
extern "C" int gethostname(char* /*name*/, std::size_t /*size*/) {
  return -1;
}
