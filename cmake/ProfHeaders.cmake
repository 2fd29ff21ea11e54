# Where the CUPTI, CUDA and NVTX headers are: targets prof_cuda_headers and prof_nvtx_headers.
#
# Taken from PROF_CUDA_INCLUDE_DIRS if given, else from a CUDA toolkit, else from the folder that
# cmake/fetch_cuda_headers.py fills from NVIDIA's wheels. Headers only: nothing of CUDA is ever linked
# into libprof. The target prof_nvtx_headers shows the nvtx3/ folder and nothing of CUDA beside it.
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
    foreach(header cupti.h cuda.h cuda_runtime_api.h nvtx3/nvToolsExt.h)
        string(MAKE_C_IDENTIFIER prof_folder_of_${header} variable)
        find_path(${variable} ${header} PATHS ${folders} NO_DEFAULT_PATH NO_CACHE)
        if(NOT ${variable})
            list(JOIN folders ", " places)
            message(FATAL_ERROR "${header} was found in none of ${places}. Run "
                "python3 ${PROJECT_SOURCE_DIR}/cmake/fetch_cuda_headers.py, or set "
                "PROF_CUDA_INCLUDE_DIRS.")
        endif()
        cmake_path(SET found NORMALIZE ${${variable}}/.)
        string(REGEX REPLACE "/$" "" found ${found})
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
message(STATUS "CUPTI and CUDA headers: ${PROF_CUDA_HEADER_DIRS}; NVTX: ${PROF_NVTX_HEADER_DIR}")

set(PROF_NVTX_INCLUDE_DIR ${PROJECT_BINARY_DIR}/nvtx_include)
file(MAKE_DIRECTORY ${PROF_NVTX_INCLUDE_DIR})
file(REMOVE ${PROF_NVTX_INCLUDE_DIR}/nvtx3)
file(CREATE_LINK ${PROF_NVTX_HEADER_DIR} ${PROF_NVTX_INCLUDE_DIR}/nvtx3 SYMBOLIC)

add_library(prof_nvtx_headers INTERFACE)
target_include_directories(prof_nvtx_headers SYSTEM INTERFACE ${PROF_NVTX_INCLUDE_DIR})
add_library(prof_cuda_headers INTERFACE)
target_include_directories(prof_cuda_headers SYSTEM INTERFACE ${PROF_CUDA_HEADER_DIRS})
