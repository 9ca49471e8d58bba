# The targets that cmake/deps.cmake gives a native build. Headers of this system's packages are linked one by one:
# the folder they lie in holds another system's C library, too.
set(_headers ${PROJECT_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${_headers})
foreach(_header fmt tsl protozero xxhash.h simdjson.h)
  find_path(_folder_of_${_header} ${_header} PATHS /usr/include NO_DEFAULT_PATH REQUIRED)
  file(CREATE_LINK ${_folder_of_${_header}}/${_header} ${_headers}/${_header} SYMBOLIC)
endforeach()
set(RIDGELINE_PROTOZERO ${_headers})

set(CMAKE_CXX_STANDARD 23)
include_directories(BEFORE SYSTEM ${PROJECT_SOURCE_DIR}/wasm/std ${PROJECT_SOURCE_DIR}/wasm/include ${_headers})
add_compile_definitions(FMT_HEADER_ONLY XXH_INLINE_ALL _WASI_EMULATED_PROCESS_CLOCKS)
add_compile_options(-include ${PROJECT_SOURCE_DIR}/wasm/std/pointers.hpp -fno-exceptions -Wno-deprecated)
foreach(_nothing fmt::fmt tl::expected yaml-cpp ZLIB::ZLIB Threads::Threads PkgConfig::xxhash PkgConfig::zstd tsl::robin_map)
  add_library(${_nothing} INTERFACE IMPORTED)
endforeach()

# Debian has simdjson as a shared library alone: its one file is compiled from the source package (./dev npm).
set(RIDGELINE_SIMDJSON_SOURCE "" CACHE FILEPATH "simdjson.cpp of the version of simdjson.h")
add_library(simdjson STATIC ${RIDGELINE_SIMDJSON_SOURCE})
target_compile_definitions(simdjson PUBLIC SIMDJSON_EXCEPTIONS=0)
add_library(simdjson::simdjson ALIAS simdjson)

# What needs files, threads or measurements: whole layers, and in others the files that serve these layers.
set(RIDGELINE_LAYERS_LEFT_OUT sweep plan deploy evidence observe)
set(RIDGELINE_FILES_LEFT_OUT
    "api/(arrow|library|session_api|stepped_run|tree)[.]cpp$"
    "core/system_library[.]cpp$"
    "document/(gzip_writer|save|temporary|yaml_writer)[.]cpp$"
    "latency/fit/"
    "sim/live/"
    "report/(comparison_page|front_page|plan_page)[.]cpp$"
    "sim/logs/"
    "verbs/clients/"
    "verbs/(list_networks|saved_views)[.]cpp$"
    "verbs/run/run_comparison[.]cpp$"
    "verbs/(calibrate|compared_runs|convert|deploy|kernels_|list_folder|measured_files|plan|report|run_logs|steps|sweep|trace|validate)")

# ridgeline_choose_for_wasm(<sources> <layer>): without what is left out. A file of wasm/src takes the place of the
# file of the same name under src.
function(ridgeline_choose_for_wasm SOURCES LAYER)
  set(_kept ${${SOURCES}})
  foreach(_pattern IN LISTS RIDGELINE_FILES_LEFT_OUT)
    list(FILTER _kept EXCLUDE REGEX "/src/${_pattern}")
  endforeach()
  set(_folder ${PROJECT_SOURCE_DIR}/wasm/src)
  file(GLOB_RECURSE _stand_ins CONFIGURE_DEPENDS RELATIVE ${_folder} ${_folder}/${LAYER}/*.cpp)
  foreach(_file IN LISTS _stand_ins)
    list(REMOVE_ITEM _kept ${PROJECT_SOURCE_DIR}/src/${_file})
    list(APPEND _kept ${_folder}/${_file})
  endforeach()
  set(${SOURCES} ${_kept} PARENT_SCOPE)
endfunction()
