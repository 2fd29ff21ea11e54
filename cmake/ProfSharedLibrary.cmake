# libprof.so (target prof, alias prof::prof): the session room's objects, and whatever of the other
# rooms they reach. And prof::headers: the annotation macros alone, with nothing to link.
#
# The library is loaded into other people's processes, so it needs glibc and nothing else, and shows
# only the symbols of cmake/libprof.map: libstdc++, libgcc, fmt and zlib are inside, and hidden.
include_guard(GLOBAL)

set(PROF_NVTX_INSTALL_DIR ${CMAKE_INSTALL_INCLUDEDIR}/prof/third_party)

function(prof_shared_library)
    # NVTX headers as a last resort (-idirafter): whatever NVTX the user's own include path has wins.
    set(nvtx "$<BUILD_INTERFACE:${PROF_NVTX_INCLUDE_DIR}>$<INSTALL_INTERFACE:$<INSTALL_PREFIX>/${PROF_NVTX_INSTALL_DIR}>")
    add_library(prof_headers INTERFACE)
    add_library(prof::headers ALIAS prof_headers)
    set_target_properties(prof_headers PROPERTIES EXPORT_NAME headers)
    target_compile_features(prof_headers INTERFACE cxx_std_17)
    target_include_directories(prof_headers INTERFACE
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_compile_options(prof_headers INTERFACE
        "$<$<COMPILE_LANGUAGE:C,CXX>:SHELL:-idirafter ${nvtx}>"
        "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcompiler=-idirafter -Xcompiler=${nvtx}>")
    # NVTX opens its tool with dlopen.
    target_link_libraries(prof_headers INTERFACE ${CMAKE_DL_LIBS})

    add_library(prof SHARED $<TARGET_OBJECTS:prof_session> ${PROJECT_SOURCE_DIR}/src/glibc_2_35.cpp)
    add_library(prof::prof ALIAS prof)
    target_link_libraries(prof INTERFACE prof_headers PRIVATE prof_session prof_build_flags)
    # With it the macros hold a reference to libprof, which --as-needed would drop otherwise.
    target_compile_definitions(prof INTERFACE PROF_LINKED=1)

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
    endif()
    set_target_properties(prof PROPERTIES
        LINKER_LANGUAGE CXX
        LINK_DEPENDS ${version_script}
        VERSION ${PROJECT_VERSION}
        SOVERSION ${PROJECT_VERSION_MAJOR}
        LIBRARY_OUTPUT_DIRECTORY ${PROF_LIBRARY_DIR})
endfunction()
