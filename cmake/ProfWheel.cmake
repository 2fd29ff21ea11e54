# SPDX-License-Identifier: Apache-2.0
# What only `pip install` of the sources needs: a message that names all packages that are missing at once, and NVIDIA's
# headers where the machine has no CUDA toolkit.
include_guard(GLOBAL)

find_package(Python3 REQUIRED COMPONENTS Interpreter OPTIONAL_COMPONENTS Development.Module)
find_package(fmt QUIET)
find_package(nlohmann_json QUIET)
find_package(CLI11 QUIET)
find_library(prof_zlib_for_wheel NAMES libz.a NO_CACHE)
set(missing "")
foreach(package IN ITEMS "fmt_FOUND libfmt-dev" "nlohmann_json_FOUND nlohmann-json3-dev" "CLI11_FOUND libcli11-dev"
                         "prof_zlib_for_wheel zlib1g-dev" "Python3_Development.Module_FOUND python3-dev")
    string(REPLACE " " ";" package ${package})
    list(GET package 0 variable)
    list(GET package 1 name)
    if(NOT ${variable})
        list(APPEND missing ${name})
    endif()
endforeach()
if(missing)
    list(JOIN missing " " missing)
    message(FATAL_ERROR "libprof cannot be compiled here: Debian's packages ${missing} are missing "
        "(apt-get install ${missing}). A wheel of libprof needs none of them.")
endif()

if(NOT PROF_CUDA_INCLUDE_DIRS)
    execute_process(COMMAND bash -c "source ${PROJECT_SOURCE_DIR}/cmake/setup.sh && has_cuda_headers" RESULT_VARIABLE absent)
    if(absent)
        set(PROF_CUDA_INCLUDE_DIRS ${PROJECT_BINARY_DIR}/cuda/include)
        execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/fetch_cuda_headers.py
            --to ${PROF_CUDA_INCLUDE_DIRS} COMMAND_ERROR_IS_FATAL ANY)
    endif()
endif()
