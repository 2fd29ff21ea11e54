# SPDX-License-Identifier: Apache-2.0
# The two ways to add code to libprof: a room of the library, and a test of it.
include_guard(GLOBAL)

# In another project its fmt and nlohmann_json are used, if it has them.
if(NOT TARGET fmt::fmt-header-only)
    find_package(fmt REQUIRED)
endif()
if(NOT TARGET nlohmann_json::nlohmann_json)
    find_package(nlohmann_json REQUIRED)
endif()

# zlib is inside libprof.so, so it must be the static one. CMake's own module finds one zlib for a whole project, and
# the shared one by default.
find_library(PROF_ZLIB_LIBRARY NAMES libz.a HINTS ${ZLIB_ROOT} $ENV{ZLIB_ROOT} PATH_SUFFIXES lib lib64
    DOC "zlib's static library, position independent")
find_path(PROF_ZLIB_INCLUDE_DIR NAMES zlib.h HINTS ${ZLIB_ROOT} $ENV{ZLIB_ROOT} PATH_SUFFIXES include
    DOC "The folder with zlib.h")
mark_as_advanced(PROF_ZLIB_LIBRARY PROF_ZLIB_INCLUDE_DIR)
if(NOT PROF_ZLIB_LIBRARY OR NOT PROF_ZLIB_INCLUDE_DIR)
    message(FATAL_ERROR "zlib's static library (libz.a) or zlib.h was not found. Install zlib's development files "
        "(Debian: zlib1g-dev), or set PROF_ZLIB_LIBRARY and PROF_ZLIB_INCLUDE_DIR.")
endif()
add_library(prof_zlib INTERFACE)
target_include_directories(prof_zlib SYSTEM INTERFACE ${PROF_ZLIB_INCLUDE_DIR})
target_link_libraries(prof_zlib INTERFACE ${PROF_ZLIB_LIBRARY})

# A sanitizer's build compiles so many files at a time that a constant of one has a variable's name of another.
set(shadow_warning -Wshadow)
if(PROF_SANITIZE)
    set(shadow_warning "")
endif()
# What every target of ours is compiled with; it never reaches a user's target.
add_library(prof_build_flags INTERFACE)
target_compile_features(prof_build_flags INTERFACE cxx_std_20)
# Threads without CMake's module, which tries a compiler once and keeps the result in the cache.
target_link_options(prof_build_flags INTERFACE -pthread)
target_compile_options(prof_build_flags INTERFACE
    -pthread
    # libprof throws and uses types at run time, also in a project that is compiled without. And in one with link-time
    # optimisation: with it the linker would show arc4random (glibc_2_35.cpp) to the whole process.
    $<$<COMPILE_LANGUAGE:CXX>:-fexceptions> $<$<COMPILE_LANGUAGE:CXX>:-frtti> -fno-lto
    -Wall -Wextra -Wpedantic -Wconversion ${shadow_warning}
    # GCC 12 takes std::string's own code for overlapping copies (GCC bug 105651) and for out of bounds.
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-array-bounds>"
    # Locks, as they are annotated (base/thread_annotations.hpp).
    "$<$<CXX_COMPILER_ID:Clang>:-Wthread-safety;-Wthread-safety-beta>"
    $<$<BOOL:${PROF_WERROR}>:-Werror>
    # A unity file includes by absolute paths: without them the compiler's cache serves any clone.
    $<$<BOOL:${PROF_UNITY}>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>)
if(PROF_SANITIZE)
    target_compile_options(prof_build_flags INTERFACE
        -fsanitize=${PROF_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(prof_build_flags INTERFACE -fsanitize=${PROF_SANITIZE})
    if(PROF_SANITIZE MATCHES "thread")
        target_compile_options(prof_build_flags INTERFACE
            -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/thread_sanitizer_ignored.txt)
    endif()
endif()

# {fmt} with its functions compiled once, where a header-only fmt costs each file that uses it seven seconds. They are
# position independent and hidden, which those of a distribution's libfmt are not. Which functions have to be named
# changes between fmt's versions: those that were not tried are used header-only.
get_target_property(fmt_is_found fmt::fmt-header-only IMPORTED)  # else it is built in this project, with any version
if(fmt_is_found AND fmt_VERSION VERSION_GREATER_EQUAL 9 AND fmt_VERSION VERSION_LESS 10)
    add_library(prof_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt.cpp)
    get_target_property(fmt_headers fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
    target_include_directories(prof_fmt SYSTEM PUBLIC ${fmt_headers})
    target_compile_features(prof_fmt PUBLIC cxx_std_20)
    target_link_libraries(prof_fmt PRIVATE prof_build_flags)
    set_target_properties(prof_fmt PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF
        CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
else()
    add_library(prof_fmt INTERFACE)
    target_link_libraries(prof_fmt INTERFACE fmt::fmt-header-only)
endif()

# Fuzzers see which branches of a room's code an input takes.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND PROF_SANITIZE MATCHES "address")
    set(fuzzers_by_default ON)
else()
    set(fuzzers_by_default OFF)
endif()
option(PROF_BUILD_FUZZERS "Build the fuzzers (clang and its address sanitizer only)" ${fuzzers_by_default})

# prof_room(<name> SOURCES a.cpp... [DEPENDS <room>...] [LINKS <target>...])
#
# One room of src/: the static library prof_<name>, position independent with hidden symbols, so that
# the same objects go into libprof.so, the command and the tests. Dependencies are public: a room
# whose headers name another room's types hands their include path on.
function(prof_room name)
    cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LINKS" ${ARGN})
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
        message(FATAL_ERROR "prof_room(${name}): expected SOURCES, DEPENDS, LINKS; "
            "got '${arg_UNPARSED_ARGUMENTS}'")
    endif()
    set(target prof_${name})
    add_library(${target} STATIC ${arg_SOURCES})
    target_include_directories(${target} PUBLIC
        ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    set_target_properties(${target} PROPERTIES
        POSITION_INDEPENDENT_CODE ON
        CXX_EXTENSIONS OFF
        CXX_VISIBILITY_PRESET hidden
        C_VISIBILITY_PRESET hidden
        VISIBILITY_INLINES_HIDDEN ON
        UNITY_BUILD ${PROF_UNITY}
        UNITY_BUILD_BATCH_SIZE ${PROF_UNITY_FILES})
    # The hooks read one thread-local pointer: initial-exec makes that one load, in libprof.so too. And a record's
    # constants stand in the code: two that are put into one vector are read from memory, which is far in a hook.
    target_compile_options(${target} PRIVATE -ftls-model=initial-exec -fno-tree-slp-vectorize
        $<$<BOOL:${PROF_BUILD_FUZZERS}>:-fsanitize=fuzzer-no-link>)
    list(TRANSFORM arg_DEPENDS PREPEND prof_)
    target_link_libraries(${target}
        PUBLIC ${arg_DEPENDS} ${arg_LINKS}
        PRIVATE prof_build_flags)
endfunction()

# prof_test(<name> SOURCES x_test.cpp... [LINKS <target>...] [LABELS <label>...]
#           [ENVIRONMENT NAME=value...] [TIMEOUT <seconds>] [OPTIMISED])
#
# A GoogleTest program <name>_test and one ctest entry for each of its tests. Label: unit unless said. The test's own
# sources are compiled without optimisation, which takes a third of the time; OPTIMISED keeps the build type's flags,
# for a test that computes much itself. The code under test lies in the rooms, which keep theirs.
function(prof_test name)
    cmake_parse_arguments(arg "OPTIMISED" "TIMEOUT" "SOURCES;LINKS;LABELS;ENVIRONMENT" ${ARGN})
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
        message(FATAL_ERROR "prof_test(${name}): expected SOURCES, LINKS, LABELS, ENVIRONMENT, "
            "TIMEOUT; got '${arg_UNPARSED_ARGUMENTS}'")
    endif()
    if(NOT arg_LABELS)
        set(arg_LABELS unit)
    endif()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 120)
    endif()
    string(REGEX REPLACE "_test$" "" name ${name})
    set(target ${name}_test)
    add_executable(${target} ${arg_SOURCES})
    target_include_directories(${target} PRIVATE
        ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/tests)
    set_target_properties(${target} PROPERTIES
        CXX_EXTENSIONS OFF RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/bin
        UNITY_BUILD ${PROF_UNITY} UNITY_BUILD_BATCH_SIZE 8)
    target_link_libraries(${target} PRIVATE
        ${arg_LINKS} GTest::gmock GTest::gtest_main prof_build_flags)
    if(NOT arg_OPTIMISED)
        target_compile_options(${target} PRIVATE -O0)
        if(PROF_PRECOMPILE_TEST_HEADERS)
            target_precompile_headers(${target} REUSE_FROM prof_test_headers)
        endif()
    endif()

    # With a sanitizer to begin a process costs more than most tests: those of rooms that compute are one process.
    if(PROF_SANITIZE AND CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/(analysis|compare|diagnose|ranks|export|options|plan|symbols|timeline)(/|$)")
        # What one thread computes has no races to be found.
        if(PROF_SANITIZE MATCHES "thread" AND NOT CMAKE_MATCH_1 MATCHES "diagnose|export")
            set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
            return()
        endif()
        add_test(NAME ${target} COMMAND ${target})
        set_tests_properties(${target} PROPERTIES LABELS "${arg_LABELS}" ENVIRONMENT "${arg_ENVIRONMENT}" TIMEOUT 900)
        return()
    endif()
    gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60)
    # gtest_discover_tests splits properties that are lists, so they are set by a script that ctest
    # reads after the discovered tests.
    set(properties_script ${CMAKE_CURRENT_BINARY_DIR}/${target}_properties.cmake)
    file(CONFIGURE OUTPUT ${properties_script} @ONLY CONTENT [=[
if(@target@_TESTS)
    set_tests_properties(${@target@_TESTS} PROPERTIES
        LABELS "@arg_LABELS@" ENVIRONMENT "@arg_ENVIRONMENT@" TIMEOUT @arg_TIMEOUT@)
endif()
]=])
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${properties_script})
endfunction()
