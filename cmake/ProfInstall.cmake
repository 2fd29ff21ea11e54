# SPDX-License-Identifier: Apache-2.0
# Install rules: library, headers, command, the CMake package prof, and pkg-config's prof.pc and prof-on-demand.pc.
#
#   prof_runtime       libprof.so.N, which a program needs to run
#   prof_headers       the headers, with NVTX's, and CMake's prof::headers
#   prof_development   what linking needs beside these two: libprof.so, libprof_autostart.a, CMake's prof::prof,
#                      pkg-config's files
#   prof_tools         the prof command, its Python files and its queries; `prof run` needs prof_runtime, too
#
# Each has the licences of what is in it. With PROF_INSTALL=OFF they are installed only if they are asked for by name.
# The rules exist all the same: a library that links prof::headers cannot be exported otherwise.
include_guard(GLOBAL)

include(CMakePackageConfigHelpers)

function(prof_install)
    set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/prof)
    set(exclude "")
    if(NOT PROF_INSTALL)
        set(exclude EXCLUDE_FROM_ALL)
    endif()
    set(components headers)
    if(NOT PROF_HEADERS_ONLY)
        list(APPEND components runtime development)
    endif()
    if(TARGET prof_cli)
        list(APPEND components tools)
    endif()

    install(TARGETS prof_headers EXPORT prof-headers-targets)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/prof COMPONENT prof_headers ${exclude}
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
    if(PROF_NVTX_HEADER_DIR)
        file(REAL_PATH ${PROF_NVTX_HEADER_DIR} nvtx_dir)
        install(DIRECTORY ${nvtx_dir}/ COMPONENT prof_headers ${exclude} DESTINATION ${PROF_NVTX_INSTALL_DIR}/nvtx3)
    endif()
    # The folder is named by the compiler's option, and has to exist.
    install(FILES ${PROJECT_SOURCE_DIR}/cmake/licences/NVTX.txt COMPONENT prof_headers ${exclude}
        DESTINATION ${PROF_NVTX_INSTALL_DIR} RENAME LICENSE.NVTX.txt)

    if("runtime" IN_LIST components)
        if(SKBUILD)  # a wheel has no symbolic links: the linker reads the name from a script
            install(TARGETS prof EXPORT prof-development-targets
                LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT prof_runtime NAMELINK_SKIP)
            file(CONFIGURE OUTPUT linker_script/libprof.so CONTENT "INPUT(libprof.so.@PROJECT_VERSION_MAJOR@)\n" @ONLY)
            install(FILES ${CMAKE_CURRENT_BINARY_DIR}/linker_script/libprof.so COMPONENT prof_development
                DESTINATION ${CMAKE_INSTALL_LIBDIR})
        else()
            install(TARGETS prof EXPORT prof-development-targets
                LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT prof_runtime ${exclude}
                    NAMELINK_COMPONENT prof_development)
        endif()
        install(TARGETS prof_autostart prof_recording EXPORT prof-development-targets
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT prof_development ${exclude})
        # They find their prefix from where they lie, so that an installed tree may be moved.
        file(RELATIVE_PATH PROF_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
        string(REGEX REPLACE "/$" "" PROF_PC_PREFIX ${PROF_PC_PREFIX})
        foreach(file IN ITEMS prof.pc prof-on-demand.pc)
            configure_file(${PROJECT_SOURCE_DIR}/cmake/${file}.in ${PROJECT_BINARY_DIR}/${file} @ONLY)
            install(FILES ${PROJECT_BINARY_DIR}/${file} COMPONENT prof_development ${exclude}
                DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
        endforeach()
    endif()
    if("tools" IN_LIST components)
        install(TARGETS prof_cli EXPORT prof-tools-targets
            RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT prof_tools ${exclude})
        install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/hooks/torch/python/ ${PROJECT_SOURCE_DIR}/src/hooks/jax/python/
            COMPONENT prof_tools ${exclude}
            DESTINATION ${CMAKE_INSTALL_DATADIR}/prof/python FILES_MATCHING PATTERN "*.py")
        install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/export/parquet/queries COMPONENT prof_tools ${exclude}
            DESTINATION ${CMAKE_INSTALL_DATADIR}/prof FILES_MATCHING PATTERN "*.sql")
        if(PROF_SHARE_DIR)  # manual pages, scripts of shells
            install(DIRECTORY ${PROF_SHARE_DIR}/ COMPONENT prof_tools ${exclude} DESTINATION ${CMAKE_INSTALL_DATADIR})
        endif()
    endif()

    configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/prof-config.cmake.in
        ${PROJECT_BINARY_DIR}/prof-config.cmake INSTALL_DESTINATION ${package_dir}
        NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
    write_basic_package_version_file(${PROJECT_BINARY_DIR}/prof-config-version.cmake
        COMPATIBILITY SameMajorVersion)
    foreach(component IN LISTS components)
        install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/cmake/licences/THIRD_PARTY_NOTICES
            COMPONENT prof_${component} ${exclude} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/licenses/prof)
        if(NOT component STREQUAL "runtime")
            install(EXPORT prof-${component}-targets NAMESPACE prof:: COMPONENT prof_${component} ${exclude}
                DESTINATION ${package_dir})
            install(FILES
                ${PROJECT_BINARY_DIR}/prof-config.cmake ${PROJECT_BINARY_DIR}/prof-config-version.cmake
                COMPONENT prof_${component} ${exclude} DESTINATION ${package_dir})
            export(EXPORT prof-${component}-targets NAMESPACE prof::
                FILE ${PROJECT_BINARY_DIR}/prof-${component}-targets.cmake)
        endif()
    endforeach()
endfunction()
