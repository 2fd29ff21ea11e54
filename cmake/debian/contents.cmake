# SPDX-License-Identifier: Apache-2.0
# CPack runs this when the files of the packages lie in their folders: it turns them into what Debian's policy asks for.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
    return()
endif()
include(${CPACK_PROF_SOURCE_DIR}/cmake/debian/copyright.cmake)
set(changes ${CPACK_PROF_SOURCE_DIR}/docs/CHANGELOG.md)

# gzip writes neither the time nor the name into the file, so that the same files make the same package.
function(prof_gzip)
    execute_process(COMMAND gzip -9nf ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
    foreach(file IN LISTS ARGN)
        file(CHMOD ${file}.gz PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    endforeach()
endfunction()

# An entry for each release that CHANGELOG.md names with its day.
function(prof_write_debian_changelog file)
    file(STRINGS ${changes} releases REGEX "^## [0-9.]+ [(][-0-9]+[)]$")
    set(text "")
    foreach(release IN LISTS releases)
        string(REGEX MATCH "([0-9.]+) [(]([-0-9]+)" release "${release}")
        execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C date --utc --rfc-email --date ${CMAKE_MATCH_2}
            OUTPUT_VARIABLE day OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
        string(APPEND text "libprof (${CMAKE_MATCH_1}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
            "  * Release ${CMAKE_MATCH_1}; changelog.gz has its changes.\n\n"
            " -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${day}\n\n")
    endforeach()
    file(WRITE ${file} "${text}")
endfunction()

foreach(group IN ITEMS RUNTIME DEVELOPMENT TOOLS)
    set(package ${CPACK_DEBIAN_${group}_PACKAGE_NAME})
    string(TOLOWER ${group} folder)
    set(root ${CPACK_TEMPORARY_DIRECTORY}/${folder}/usr)
    if(NOT IS_DIRECTORY ${root})
        continue()
    endif()

    set(documents ${root}/share/doc/${package})
    file(MAKE_DIRECTORY ${documents})
    prof_write_copyright(${documents}/copyright)
    prof_write_debian_changelog(${documents}/changelog.Debian)
    configure_file(${changes} ${documents}/changelog COPYONLY)
    prof_gzip(${documents}/changelog.Debian ${documents}/changelog)
    # The file copyright has them all.
    file(REMOVE_RECURSE ${root}/share/licenses ${root}/include/prof/third_party/LICENSE.NVTX.txt)

    if(IS_DIRECTORY ${root}/share/zsh)
        file(RENAME ${root}/share/zsh/site-functions ${root}/share/zsh/vendor-completions)
    endif()
    file(GLOB_RECURSE manuals ${root}/share/man/*)
    if(manuals)
        prof_gzip(${manuals})
    endif()
    set(overrides ${CPACK_PROF_SOURCE_DIR}/cmake/debian/${package}.lintian-overrides)
    if(EXISTS ${overrides})
        configure_file(${overrides} ${root}/share/lintian/overrides/${package} COPYONLY)
    endif()
endforeach()

# A file is in one package: find_package(prof) reads the tools' targets where libprof-dev's files lie.
file(GLOB shared ${CPACK_TEMPORARY_DIRECTORY}/tools/usr/${CPACK_PROF_LIBDIR}/cmake/prof/prof-config*.cmake)
file(REMOVE ${shared})
file(GLOB archives ${CPACK_TEMPORARY_DIRECTORY}/development/usr/${CPACK_PROF_LIBDIR}/*.a)
execute_process(COMMAND strip --strip-debug --enable-deterministic-archives --remove-section=.comment
    --remove-section=.note ${archives} COMMAND_ERROR_IS_FATAL ANY)
