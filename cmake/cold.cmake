# Layers whose own time no run waits for: a release has them small instead of fast, but for the files of them
# that a plan or a log of requests spends its time in. The module of the page, which a browser loads, has more of them.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(RIDGELINE_COLD_LAYERS model scenario sweep plan deploy evidence report verbs api observe cli
      lab/records lab/conform lab/studies lab/pages lab/program)
  set(RIDGELINE_COLD_OPTION -Os)
  if(CMAKE_CROSSCOMPILING)
    list(APPEND RIDGELINE_COLD_LAYERS document workload)
    set(RIDGELINE_COLD_OPTION -Oz)
  else()
    # An index past the end of a container ends the program with a message (cli/faults.cpp), in all layers that read what
    # others wrote or that no run waits for: in the simulation the checks cost too much (docs/internals/speed.md).
    set(RIDGELINE_CHECKS -D_GLIBCXX_ASSERTIONS)
    list(APPEND RIDGELINE_COLD_OPTION ${RIDGELINE_CHECKS})
    set(RIDGELINE_CHECKED_LAYERS document workload openai serve)
  endif()
endif()

