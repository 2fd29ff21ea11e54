# Install rules: library, headers, command, the CMake package prof and pkg-config's prof.pc.
include_guard(GLOBAL)

include(CMakePackageConfigHelpers)

function(prof_install)
    set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/prof)
    install(TARGETS prof prof_headers EXPORT prof-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    if(TARGET prof_cli)
        install(TARGETS prof_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
        install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/hooks/torch/python/ ${PROJECT_SOURCE_DIR}/src/hooks/jax/python/
            DESTINATION ${CMAKE_INSTALL_DATADIR}/prof/python FILES_MATCHING PATTERN "*.py")
    endif()
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/prof
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
    file(REAL_PATH ${PROF_NVTX_HEADER_DIR} nvtx_dir)
    install(DIRECTORY ${nvtx_dir}/ DESTINATION ${PROF_NVTX_INSTALL_DIR}/nvtx3)
    install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
        DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/licenses/prof)

    install(EXPORT prof-targets NAMESPACE prof:: DESTINATION ${package_dir})
    configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/prof-config.cmake.in
        ${PROJECT_BINARY_DIR}/prof-config.cmake INSTALL_DESTINATION ${package_dir}
        NO_SET_AND_CHECK_MACRO)
    write_basic_package_version_file(${PROJECT_BINARY_DIR}/prof-config-version.cmake
        COMPATIBILITY SameMinorVersion)
    install(FILES
        ${PROJECT_BINARY_DIR}/prof-config.cmake ${PROJECT_BINARY_DIR}/prof-config-version.cmake
        DESTINATION ${package_dir})

    # prof.pc finds its prefix from where it lies, so that an installed tree may be moved.
    file(RELATIVE_PATH PROF_PC_PREFIX
        /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
    string(REGEX REPLACE "/$" "" PROF_PC_PREFIX ${PROF_PC_PREFIX})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/prof.pc.in ${PROJECT_BINARY_DIR}/prof.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/prof.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
