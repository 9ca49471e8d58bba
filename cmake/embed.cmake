# ridgeline_embed(<layer> <symbol> FILES...): compiles data files into the binary, so that it needs no data
# directory. Gives `std::span<const core::EmbeddedFile> <layer>::<symbol>()`, declared by the layer itself. A YAML
# file keeps its name and is embedded as the JSON of the same values (tools/embed_yaml.cpp).
if(CMAKE_CROSSCOMPILING)
  set(RIDGELINE_EMBED_YAML "" CACHE FILEPATH "embed_yaml of a native build")
  add_executable(embed_yaml IMPORTED)
  set_target_properties(embed_yaml PROPERTIES IMPORTED_LOCATION ${RIDGELINE_EMBED_YAML})
else()
  add_executable(embed_yaml ${PROJECT_SOURCE_DIR}/tools/embed_yaml.cpp)
  target_link_libraries(embed_yaml PRIVATE ridgeline_flags ridgeline_document)
endif()

function(ridgeline_embed LAYER SYMBOL)
  ridgeline_target(_target ${LAYER})
  get_filename_component(_namespace ${LAYER} NAME)
  # "hardware::catalogue_files": in a namespace of its own.
  if(SYMBOL MATCHES "^(.+)::(.+)$")
    set(_namespace ${CMAKE_MATCH_1})
    set(SYMBOL ${CMAKE_MATCH_2})
  endif()
  set(_out ${CMAKE_CURRENT_BINARY_DIR}/embedded_${_namespace}_${SYMBOL}.cpp)
  set(_folder ${CMAKE_CURRENT_BINARY_DIR}/embedded/${_namespace})
  file(MAKE_DIRECTORY ${_folder})
  set(_files "")
  foreach(_file IN LISTS ARGN)
    if(_file MATCHES "[.]yaml$")
      get_filename_component(_name ${_file} NAME)
      add_custom_command(
        OUTPUT ${_folder}/${_name}
        COMMAND embed_yaml ${_file} ${_folder}/${_name}
        DEPENDS ${_file} embed_yaml
        VERBATIM)
      set(_file ${_folder}/${_name})
    endif()
    list(APPEND _files ${_file})
  endforeach()
  string(REPLACE ";" "|" _list "${_files}")
  add_custom_command(
    OUTPUT ${_out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${_out} -DLAYER=${_namespace} -DSYMBOL=${SYMBOL} "-DFILES=${_list}"
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_script.cmake
    DEPENDS ${_files} ${PROJECT_SOURCE_DIR}/cmake/embed_script.cmake
    VERBATIM)
  # A literal beyond the 65,536 characters that the standard asks of a compiler: both compilers take it.
  set_source_files_properties(${_out} PROPERTIES
    SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS -Wno-overlength-strings)
  target_sources(${_target} PRIVATE ${_out})
endfunction()
