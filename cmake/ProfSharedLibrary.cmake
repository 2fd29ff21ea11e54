# SPDX-License-Identifier: Apache-2.0
# What a program links:
#
#   prof::on_demand   libprof.so (target prof): the objects of the rooms with functions that a program calls, and whatever
#                     of the other rooms they reach. It records from prof_start on.
#   prof::prof        (target prof_recording) prof::on_demand, and a reference to it that no linker drops: recording
#                     begins by itself
#
# The library is loaded into other people's processes, so it needs glibc and nothing else, and shows only the symbols of
# cmake/libprof.map: libstdc++, libgcc, fmt and zlib are inside, and hidden. It is always shared, whatever
# BUILD_SHARED_LIBS is.
include_guard(GLOBAL)

function(prof_shared_library)
    add_library(prof SHARED $<TARGET_OBJECTS:prof_c_api> $<TARGET_OBJECTS:prof_hooks_python>
        $<TARGET_OBJECTS:prof_session> ${PROJECT_SOURCE_DIR}/src/glibc_2_35.cpp)
    add_library(prof::on_demand ALIAS prof)
    target_link_libraries(prof INTERFACE prof_headers PRIVATE prof_c_api prof_build_flags)

    set(version_script ${PROJECT_SOURCE_DIR}/cmake/libprof.map)
    target_link_options(prof PRIVATE
        -Wl,--version-script=${version_script}
        -Wl,-z,relro -Wl,-z,now -Wl,-z,text
        # Hooks may be running in other threads for as long as the process lives.
        -Wl,-z,nodelete)
    if(NOT PROF_SANITIZE)
        # A sanitizer's symbols come from the executable, and its interceptors need the shared runtime.
        # libstdc++.a refers to __cxa_pure_virtual weakly, and would go without it or use the host's.
        target_link_options(prof PRIVATE
            -Wl,--no-undefined -Wl,--undefined=__cxa_pure_virtual -static-libstdc++ -static-libgcc)
        target_sources(prof PRIVATE ${PROJECT_SOURCE_DIR}/src/session/process/operator_new.cpp)
    endif()
    set(version ${PROJECT_VERSION})
    if(SKBUILD)
        set(version ${PROJECT_VERSION_MAJOR})  # a wheel has no symbolic links: the file has the name that is loaded
    endif()
    set_target_properties(prof PROPERTIES
        LINKER_LANGUAGE CXX
        LINK_DEPENDS ${version_script}
        VERSION ${version}
        SOVERSION ${PROJECT_VERSION_MAJOR}
        EXPORT_NAME on_demand
        LIBRARY_OUTPUT_DIRECTORY ${PROF_LIBRARY_DIR})

    # The archive's one object calls prof_autostart when the program is loaded, and so needs libprof.so. A program that
    # uses NVTX alone refers to nothing in libprof, and --as-needed drops a library that nothing refers to. The linker
    # takes the object for the option's sake. No part of it is left to link-time optimisation, which might drop it.
    add_library(prof_autostart STATIC ${PROJECT_SOURCE_DIR}/src/c_api/start_at_load.cpp)
    target_compile_options(prof_autostart PRIVATE -Wall -Wextra -fno-lto -fno-exceptions)
    target_link_libraries(prof_autostart PUBLIC prof)
    set_target_properties(prof_autostart PROPERTIES
        EXPORT_NAME autostart
        POSITION_INDEPENDENT_CODE ON
        INTERPROCEDURAL_OPTIMIZATION OFF
        UNITY_BUILD OFF
        ARCHIVE_OUTPUT_DIRECTORY ${PROF_LIBRARY_DIR})
    add_library(prof_recording INTERFACE)
    add_library(prof::prof ALIAS prof_recording)
    set_target_properties(prof_recording PROPERTIES EXPORT_NAME prof)
    target_link_libraries(prof_recording INTERFACE prof_autostart prof)
    target_link_options(prof_recording INTERFACE "LINKER:--undefined=prof_autostart_marker")
endfunction()
