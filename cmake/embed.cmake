# ridgeline_embed(<layer> <symbol> FILES...): compiles data files into the binary, so that it needs no data
# directory. Gives `std::span<const core::EmbeddedFile> <layer>::<symbol>()`, declared by the layer itself.
function(ridgeline_embed LAYER SYMBOL)
  set(_out ${CMAKE_CURRENT_BINARY_DIR}/embedded_${LAYER}_${SYMBOL}.cpp)
  string(REPLACE ";" "|" _list "${ARGN}")
  add_custom_command(
    OUTPUT ${_out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${_out} -DLAYER=${LAYER} -DSYMBOL=${SYMBOL} "-DFILES=${_list}"
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_script.cmake
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/embed_script.cmake
    VERBATIM)
  set_source_files_properties(${_out} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(ridgeline_${LAYER} PRIVATE ${_out})
endfunction()
