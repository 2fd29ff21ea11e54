# SPDX-License-Identifier: Apache-2.0
# Where the CUPTI, CUDA and NVTX headers are: targets prof_cuda_headers and prof_nvtx_headers.
#
# Taken from PROF_CUDA_INCLUDE_DIRS if given, else from a CUDA toolkit, else from the folder that
# cmake/fetch_cuda_headers.py fills from NVIDIA's wheels. Headers only: nothing of CUDA is ever linked
# into libprof. The target prof_nvtx_headers shows the nvtx3/ folder and nothing of CUDA beside it.
#
# With PROF_HEADERS_ONLY the NVTX headers alone are searched for. Where there are none, the compiler's own include path
# has to have them.
include_guard(GLOBAL)

set(PROF_CUDA_INCLUDE_DIRS "" CACHE STRING
    "Folders with cupti.h, cuda.h and nvtx3/ (empty: look for a toolkit, then for fetched headers)")
set(hide_default OFF)
if(DEFINED ENV{PROF_HIDE_CUDA_TOOLKIT})
    set(hide_default $ENV{PROF_HIDE_CUDA_TOOLKIT})
endif()
option(PROF_HIDE_CUDA_TOOLKIT "Build as if this machine had no CUDA toolkit" ${hide_default})

set(PROF_FETCHED_CUDA_HEADERS ${PROJECT_SOURCE_DIR}/build/third_party/cuda/include)

function(prof_find_cuda_headers)
    if(PROF_CUDA_INCLUDE_DIRS)
        set(folders ${PROF_CUDA_INCLUDE_DIRS})
    elseif(PROF_HIDE_CUDA_TOOLKIT)
        set(folders ${PROF_FETCHED_CUDA_HEADERS})
    else()
        foreach(root $ENV{CUDA_HOME} $ENV{CUDA_PATH} ${CUDAToolkit_ROOT} /usr/local/cuda /opt/cuda)
            list(APPEND folders ${root}/include ${root}/extras/CUPTI/include)
        endforeach()
        list(APPEND folders ${PROF_FETCHED_CUDA_HEADERS})
    endif()
    set(headers cupti.h cuda.h cuda_runtime_api.h nvtx3/nvToolsExt.h)
    if(PROF_HEADERS_ONLY)
        set(headers nvtx3/nvToolsExt.h)
    endif()
    foreach(header IN LISTS headers)
        string(MAKE_C_IDENTIFIER prof_folder_of_${header} variable)
        find_path(${variable} ${header} PATHS ${folders} NO_DEFAULT_PATH NO_CACHE)
        if(NOT ${variable} AND PROF_HEADERS_ONLY)
            set(PROF_NVTX_HEADER_DIR "" PARENT_SCOPE)
            return()
        elseif(NOT ${variable})
            list(JOIN folders ", " places)
            message(FATAL_ERROR "${header} was found in none of ${places}. Run "
                "python3 ${PROJECT_SOURCE_DIR}/cmake/fetch_cuda_headers.py, or set "
                "PROF_CUDA_INCLUDE_DIRS.")
        endif()
        cmake_path(SET found NORMALIZE "${${variable}}/.")
        string(REGEX REPLACE "/$" "" found "${found}")
        if(header STREQUAL "nvtx3/nvToolsExt.h")
            set(nvtx_folder ${found})
        else()
            list(APPEND cuda_folders ${found})
        endif()
    endforeach()
    list(REMOVE_DUPLICATES cuda_folders)
    set(PROF_CUDA_HEADER_DIRS ${cuda_folders} PARENT_SCOPE)
    set(PROF_NVTX_HEADER_DIR ${nvtx_folder}/nvtx3 PARENT_SCOPE)
endfunction()

prof_find_cuda_headers()
if(PROF_HEADERS_ONLY AND PROF_NVTX_HEADER_DIR)
    message(STATUS "NVTX headers: ${PROF_NVTX_HEADER_DIR}")
elseif(PROF_NVTX_HEADER_DIR)
    message(STATUS "CUPTI and CUDA headers: ${PROF_CUDA_HEADER_DIRS}; NVTX: ${PROF_NVTX_HEADER_DIR}")
else()
    message(STATUS "NVTX: no headers found; the compiler's include path must have nvtx3/nvToolsExt.h")
endif()

set(PROF_NVTX_INCLUDE_DIR ${PROJECT_BINARY_DIR}/nvtx_include)
file(MAKE_DIRECTORY ${PROF_NVTX_INCLUDE_DIR})
file(REMOVE ${PROF_NVTX_INCLUDE_DIR}/nvtx3)
if(PROF_NVTX_HEADER_DIR)
    file(CREATE_LINK ${PROF_NVTX_HEADER_DIR} ${PROF_NVTX_INCLUDE_DIR}/nvtx3 SYMBOLIC)
endif()

add_library(prof_nvtx_headers INTERFACE)
target_include_directories(prof_nvtx_headers SYSTEM INTERFACE ${PROF_NVTX_INCLUDE_DIR})
add_library(prof_cuda_headers INTERFACE)
target_include_directories(prof_cuda_headers SYSTEM INTERFACE ${PROF_CUDA_HEADER_DIRS})

# prof::headers, the annotation headers alone: nothing to link. The NVTX headers are a last resort (-idirafter): an NVTX
# of the user's own include path wins.
set(PROF_NVTX_INSTALL_DIR ${CMAKE_INSTALL_INCLUDEDIR}/prof/third_party)
set(nvtx "$<BUILD_INTERFACE:${PROF_NVTX_INCLUDE_DIR}>$<INSTALL_INTERFACE:$<INSTALL_PREFIX>/${PROF_NVTX_INSTALL_DIR}>")
add_library(prof_headers INTERFACE)
add_library(prof::headers ALIAS prof_headers)
set_target_properties(prof_headers PROPERTIES EXPORT_NAME headers)
target_compile_features(prof_headers INTERFACE cxx_std_17)
target_include_directories(prof_headers INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# The folder is joined to the option, since a path may have spaces. nvcc hands its compiler's options to a shell; clang
# compiles CUDA itself.
target_compile_options(prof_headers INTERFACE
    "$<$<COMPILE_LANGUAGE:C,CXX>:-idirafter${nvtx}>"
    "$<$<COMPILE_LANG_AND_ID:CUDA,Clang>:-idirafter${nvtx}>"
    "$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-Xcompiler=\"-idirafter${nvtx}\">")
# NVTX opens its tool with dlopen.
target_link_libraries(prof_headers INTERFACE ${CMAKE_DL_LIBS})
