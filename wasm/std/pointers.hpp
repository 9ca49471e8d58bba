// Included before every file. Debian builds libc++ for WebAssembly with its unstable ABI, in which
// iterators of arrays and texts are classes; with its usual ABI, and in libstdc++, they are
// pointers, and so they are taken.
#pragma once
#include <version>

#undef _LIBCPP_ABI_USE_WRAP_ITER_IN_STD_ARRAY
#undef _LIBCPP_ABI_USE_WRAP_ITER_IN_STD_STRING_VIEW
