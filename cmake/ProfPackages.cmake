# SPDX-License-Identifier: Apache-2.0
# Packages by CPack, of the components of ProfInstall.cmake:
#
#   cpack -G TGZ   an archive that may be unpacked anywhere
#   cpack -G DEB   Debian's libprof0 (prof_runtime), libprof-dev (prof_headers, prof_development) and prof (prof_tools),
#                  of a build with CMAKE_INSTALL_PREFIX=/usr; debian/ has what Debian's policy asks for
include_guard(GLOBAL)

function(prof_packages)
    set(CPACK_GENERATOR TGZ)
    set(CPACK_VERBATIM_VARIABLES ON)
    set(CPACK_PACKAGE_NAME libprof)
    set(CPACK_PACKAGE_VENDOR libprof)
    set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
    string(TOLOWER "libprof-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" CPACK_PACKAGE_FILE_NAME)
    set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
    set(CPACK_STRIP_FILES ON)
    set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
        OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

    set(CPACK_DEB_COMPONENT_INSTALL ON)
    set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
    set(CPACK_COMPONENTS_ALL prof_runtime prof_headers prof_development)
    set(CPACK_COMPONENT_PROF_RUNTIME_GROUP runtime)
    set(CPACK_COMPONENT_PROF_HEADERS_GROUP development)
    set(CPACK_COMPONENT_PROF_DEVELOPMENT_GROUP development)
    if(TARGET prof_cli)
        list(APPEND CPACK_COMPONENTS_ALL prof_tools)
        set(CPACK_COMPONENT_PROF_TOOLS_GROUP tools)
    endif()
    set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/debian/packages.cmake)
    set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian/contents.cmake)

    # For the scripts in debian/.
    set(CPACK_PROF_SOURCE_DIR ${PROJECT_SOURCE_DIR})
    set(CPACK_PROF_LIBRARY ${PROF_LIBRARY_DIR}/libprof.so.${PROJECT_VERSION_MAJOR})
    set(CPACK_PROF_SOVERSION ${PROJECT_VERSION_MAJOR})
    set(CPACK_PROF_LIBDIR ${CMAKE_INSTALL_LIBDIR})
    if(TARGET prof_cli)
        set(CPACK_PROF_COMMAND ${PROF_BINARY_DIR}/prof)
    endif()
    include(CPack)
endfunction()
