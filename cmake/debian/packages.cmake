# SPDX-License-Identifier: Apache-2.0
# CPack reads this before it makes packages: Debian's control fields. What the files need is asked of dpkg-shlibdeps.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
    return()
endif()

find_program(dpkg_architecture dpkg-architecture)
find_program(dpkg_shlibdeps dpkg-shlibdeps)
if(NOT dpkg_architecture OR NOT dpkg_shlibdeps)
    message(FATAL_ERROR "Debian packages need dpkg-shlibdeps: apt-get install dpkg-dev")
endif()
execute_process(COMMAND ${dpkg_architecture} -q DEB_HOST_MULTIARCH OUTPUT_VARIABLE multiarch
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT CPACK_PROF_LIBDIR STREQUAL "lib/${multiarch}")
    message(FATAL_ERROR "Debian packages have their libraries in /usr/lib/${multiarch}, and this build in "
        "${CPACK_PROF_LIBDIR}: configure a build of its own with -DCMAKE_INSTALL_PREFIX=/usr (cmake --preset packages)")
endif()

# The packages that FILE needs, with their versions.
function(prof_dependencies file out)
    set(folder ${CPACK_PACKAGE_DIRECTORY}/_CPack_Packages/shlibdeps)
    file(MAKE_DIRECTORY ${folder}/debian)
    file(WRITE ${folder}/debian/control "Source: libprof\n\nPackage: libprof0\nArchitecture: any\n")
    execute_process(COMMAND ${dpkg_shlibdeps} -O -e${file} WORKING_DIRECTORY ${folder}
        OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    string(REPLACE "shlibs:Depends=" "" found "${found}")
    set(${out} "${found}" PARENT_SCOPE)
endfunction()

set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
if(maintainer STREQUAL " <>")
    set(maintainer "libprof maintainers <maintainers@users.noreply.github.com>")
endif()
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${maintainer}")
set(CPACK_DEBIAN_PACKAGE_SOURCE libprof)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(this_version "= ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
set(library libprof${CPACK_PROF_SOVERSION})

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${library})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "profiler inside a GPU training process - library
What each range of a training program costs on the GPU: libprof records
NVTX ranges, CUDA calls, kernels and copies inside the process, and writes
tables and traces. CUDA is not needed to install it.
.
This package has the shared library.")
prof_dependencies(${CPACK_PROF_LIBRARY} CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA)
foreach(file IN ITEMS symbols shlibs triggers)
    list(APPEND CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${CPACK_PACKAGE_DIRECTORY}/_CPack_Packages/control/${file})
endforeach()
include(${CPACK_PROF_SOURCE_DIR}/cmake/debian/library_control.cmake)
prof_write_library_control(${CPACK_PACKAGE_DIRECTORY}/_CPack_Packages/control ${library})

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libprof-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "profiler inside a GPU training process - development files
What each range of a training program costs on the GPU: libprof records
NVTX ranges, CUDA calls, kernels and copies inside the process, and writes
tables and traces.
.
This package has the headers for C and C++, with NVTX's, and what CMake and
pkg-config need to link a program with libprof.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library} (${this_version})")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME prof)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "profiler inside a GPU training process - command
What each range of a training program costs on the GPU: the command prof
runs an unchanged program with libprof in it, and makes tables and traces of
what was recorded. It needs no CUDA of its own.")
if(CPACK_PROF_COMMAND)
    prof_dependencies(${CPACK_PROF_COMMAND} CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS)
    string(APPEND CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS ", ${library} (${this_version})")
endif()
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "libprof-dev, python3")
