# Compile and link flags that every target of ours shares.
add_library(ridgeline_flags INTERFACE)

# The same bits on every machine: no fused multiply-add behind our back, no -march=native, no -ffast-math.
target_compile_options(ridgeline_flags INTERFACE -ffp-contract=off)

# A failed check names its file from the top of the tree: the same bytes wherever the tree lies, for packages and
# for the compiler cache.
target_compile_options(ridgeline_flags INTERFACE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)

target_compile_options(ridgeline_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wdouble-promotion
  -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast -Wcast-align -Wformat=2
  -Wimplicit-fallthrough -Wundef)
# False alarms of g++ 12: members that a designated initialiser leaves to their defaults taken for
# uninitialised, and overlapping or overlong copies seen in std::string's operator+ (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(ridgeline_flags INTERFACE -Wno-maybe-uninitialized -Wno-restrict -Wno-array-bounds
                         -Wno-stringop-overflow)
endif()
# libstdc++ 12's stable_sort calls a function that it has itself deprecated.
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  target_compile_options(ridgeline_flags INTERFACE -Wno-deprecated-declarations)
endif()
# A unity build puts several files' own names into one unit: what that alone brings up is no finding (the work
# preset compiles file by file, with both warnings).
if(CMAKE_UNITY_BUILD)
  target_compile_options(ridgeline_flags INTERFACE -Wno-shadow)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(ridgeline_flags INTERFACE -Wno-subobject-linkage)
  endif()
endif()
if(RIDGELINE_WERROR)
  target_compile_options(ridgeline_flags INTERFACE -Werror)
endif()

set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
if(CMAKE_CROSSCOMPILING)
  set(CMAKE_CXX_FLAGS_RELEASE "-Os -DNDEBUG")
endif()
# What Debian builds its packages with (dpkg-buildflags, hardening=+all).
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT CMAKE_CROSSCOMPILING)
  target_compile_options(ridgeline_flags INTERFACE -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  target_link_options(ridgeline_flags INTERFACE -Wl,-z,relro -Wl,-z,now)
endif()

# Line numbers take a tenth of the time of a build: for sanitizers, and for the work preset.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -D_GLIBCXX_ASSERTIONS")

if(RIDGELINE_SANITIZE)
  target_compile_options(ridgeline_flags INTERFACE
    -g1 -fsanitize=${RIDGELINE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(ridgeline_flags INTERFACE -fsanitize=${RIDGELINE_SANITIZE})
  # A fifth of the compile time for what AddressSanitizer sees as well, but for alignment and downcasts, which are
  # checked by the asan preset (g++) and by the fuzzers.
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND NOT RIDGELINE_FUZZ)
    target_compile_options(ridgeline_flags INTERFACE -fno-sanitize=null,alignment,object-size,vptr)
  endif()
endif()

# Coverage feedback from every layer, not only from the fuzzer's own file.
if(RIDGELINE_FUZZ)
  target_compile_options(ridgeline_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# lld links the many test programs in a fraction of the default linker's time. Not mold: 1.10 (Debian 12) made one that
# did not load, with RELRO, and never ends on another without. Programs that users run are linked by the default linker.
find_program(RIDGELINE_LLD ld.lld)
if(RIDGELINE_LLD AND NOT CMAKE_BUILD_TYPE STREQUAL "Release")
  target_link_options(ridgeline_flags INTERFACE -fuse-ld=lld)
endif()
