// For a system without shared libraries: no name is known.
#pragma once

#define RTLD_DEFAULT nullptr

inline void* dlsym(void* /*library*/, const char* /*name*/) {
  return nullptr;
}
