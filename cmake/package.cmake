# The shared library and all that `cmake --install` and CPack take: program, library, headers, CMake package,
# pkg-config file, manual page, completions, licences. Included where RIDGELINE_LIBRARY is on (the package preset).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Layers below api, whole: what nothing calls the linker drops.
file(STRINGS ${PROJECT_SOURCE_DIR}/include/ridgeline.h _abi REGEX "^#define RL_ABI [0-9]+$")
string(REGEX MATCH "[0-9]+" RIDGELINE_ABI "${_abi}")
set(_exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
add_library(ridgeline_shared SHARED $<TARGET_OBJECTS:ridgeline_api>)
foreach(_layer IN LISTS RIDGELINE_LAYER_api)
  target_link_libraries(ridgeline_shared PRIVATE ridgeline_${_layer})
endforeach()
target_link_libraries(ridgeline_shared PRIVATE ridgeline_flags)
target_link_options(ridgeline_shared PRIVATE -Wl,--version-script=${_exports})
target_include_directories(ridgeline_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(ridgeline_shared PROPERTIES
  OUTPUT_NAME ridgeline EXPORT_NAME ridgeline LINKER_LANGUAGE CXX LINK_DEPENDS ${_exports}
  VERSION ${PROJECT_VERSION} SOVERSION ${RIDGELINE_ABI} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

# Of the Python wheel: a library with the program's code too, so that the wheel has all of it once, and a program that
# is one call into it. Built on demand (target wheel_program).
set(_program ${PROJECT_SOURCE_DIR}/cmake/program.map)
add_library(wheel_library SHARED EXCLUDE_FROM_ALL
  $<TARGET_OBJECTS:ridgeline_api> $<TARGET_OBJECTS:ridgeline_cli> ${PROJECT_SOURCE_DIR}/src/cli/main.cpp)
foreach(_layer IN LISTS RIDGELINE_LAYER_api RIDGELINE_LAYER_cli)
  target_link_libraries(wheel_library PRIVATE ridgeline_${_layer})
endforeach()
target_link_libraries(wheel_library PRIVATE ridgeline_flags)
target_link_options(wheel_library PRIVATE -Wl,--version-script=${_exports} -Wl,--version-script=${_program})
# Inside it and not beside it, where Debian's archives can be linked so: of zstd it needs a fifth.
foreach(_name zstd z xxhash)
  find_library(RIDGELINE_ARCHIVE_${_name} lib${_name}.a)
  if(RIDGELINE_ARCHIVE_${_name})
    target_link_libraries(wheel_library PRIVATE ${RIDGELINE_ARCHIVE_${_name}})
  endif()
endforeach()
target_link_options(wheel_library PRIVATE -Wl,--as-needed)
add_executable(wheel_program EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/wheel_main.cpp)
target_link_libraries(wheel_program PRIVATE ridgeline_flags wheel_library)
set_target_properties(wheel_library wheel_program PROPERTIES
  OUTPUT_NAME ridgeline LINKER_LANGUAGE CXX LINK_DEPENDS "${_exports};${_program}"
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/wheel RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/wheel)
set_target_properties(wheel_library PROPERTIES SOVERSION ${RIDGELINE_ABI})

install(TARGETS ridgeline RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(RIDGELINE_LAB)
  install(TARGETS ridgeline-lab RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT lab)
endif()
install(TARGETS ridgeline_shared EXPORT ridgelineTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# find_package(ridgeline), and pkg-config for all other builds.
set(_package ${CMAKE_INSTALL_LIBDIR}/cmake/ridgeline)
install(EXPORT ridgelineTargets NAMESPACE ridgeline:: DESTINATION ${_package})
file(WRITE ${PROJECT_BINARY_DIR}/ridgelineConfig.cmake
     "include(\${CMAKE_CURRENT_LIST_DIR}/ridgelineTargets.cmake)\n")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ridgelineConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ridgelineConfig.cmake ${PROJECT_BINARY_DIR}/ridgelineConfigVersion.cmake
        DESTINATION ${_package})
file(RELATIVE_PATH _up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
file(WRITE ${PROJECT_BINARY_DIR}/ridgeline.pc
     "prefix=\${pcfiledir}/${_up}\n"
     "libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}\n"
     "includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}\n\n"
     "Name: ridgeline\n"
     "Description: ${PROJECT_DESCRIPTION}\n"
     "Version: ${PROJECT_VERSION}\n"
     "Libs: -L\${libdir} -lridgeline\n"
     "Cflags: -I\${includedir}\n")
install(FILES ${PROJECT_BINARY_DIR}/ridgeline.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# What the program prints of itself.
set(_made ${PROJECT_BINARY_DIR}/package)
file(MAKE_DIRECTORY ${_made})
add_custom_command(
  OUTPUT ${_made}/ridgeline.1.gz ${_made}/ridgeline ${_made}/_ridgeline ${_made}/ridgeline.fish
  COMMAND $<TARGET_FILE:ridgeline> man > ${_made}/ridgeline.1
  COMMAND gzip -9nf ${_made}/ridgeline.1
  COMMAND $<TARGET_FILE:ridgeline> completions bash > ${_made}/ridgeline
  COMMAND $<TARGET_FILE:ridgeline> completions zsh > ${_made}/_ridgeline
  COMMAND $<TARGET_FILE:ridgeline> completions fish > ${_made}/ridgeline.fish
  DEPENDS ridgeline)
add_custom_target(package_pages ALL DEPENDS ${_made}/ridgeline.1.gz)
set(_share ${CMAKE_INSTALL_DATADIR})
install(FILES ${_made}/ridgeline.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${_made}/ridgeline DESTINATION ${_share}/bash-completion/completions)
install(FILES ${_made}/_ridgeline DESTINATION ${_share}/zsh/vendor-completions)
install(FILES ${_made}/ridgeline.fish DESTINATION ${_share}/fish/vendor_completions.d)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${_share}/doc/ridgeline RENAME copyright)
install(FILES ${PROJECT_SOURCE_DIR}/THIRD_PARTY_NOTICES DESTINATION ${_share}/doc/ridgeline)

# Where ./dev page has built it.
install(FILES ${PROJECT_SOURCE_DIR}/out/page/ui.html DESTINATION ${_share}/ridgeline OPTIONAL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ridgeline)
set(CPACK_PACKAGE_CONTACT "The Ridgeline authors <ridgeline@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
# Two packages: ridgeline, and the laboratory's program.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME ridgeline)
set(CPACK_DEBIAN_LAB_PACKAGE_NAME ridgeline-lab)
set(CPACK_DEBIAN_LAB_PACKAGE_DEPENDS ridgeline)
set(CPACK_COMPONENT_LAB_DESCRIPTION "Published studies, recorded decisions and collections of measured runs for ridgeline")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "coinor-libcbc3, libcurl4, libpcre2-8-0, libzmq5")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
include(CPack)
