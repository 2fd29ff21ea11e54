# The two ways to add code to libprof: a room of the library, and a test of it.
include_guard(GLOBAL)

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
set(ZLIB_USE_STATIC_LIBS ON)
find_package(ZLIB REQUIRED)

# What every target of ours is compiled with; it never reaches a user's target.
add_library(prof_build_flags INTERFACE)
target_compile_features(prof_build_flags INTERFACE cxx_std_20)
target_compile_options(prof_build_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow
    # GCC 12 takes std::string's own code for overlapping copies (GCC bug 105651) and for out of bounds.
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-array-bounds>"
    $<$<BOOL:${PROF_WERROR}>:-Werror>)
if(PROF_SANITIZE)
    target_compile_options(prof_build_flags INTERFACE
        -fsanitize=${PROF_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(prof_build_flags INTERFACE -fsanitize=${PROF_SANITIZE})
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
        VISIBILITY_INLINES_HIDDEN ON)
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
#           [ENVIRONMENT NAME=value...] [TIMEOUT <seconds>])
#
# A GoogleTest program <name>_test and one ctest entry for each of its tests. Label: unit unless said.
function(prof_test name)
    cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LINKS;LABELS;ENVIRONMENT" ${ARGN})
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
        CXX_EXTENSIONS OFF RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/bin)
    target_link_libraries(${target} PRIVATE
        ${arg_LINKS} GTest::gmock GTest::gtest_main prof_build_flags)

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
