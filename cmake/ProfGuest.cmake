# SPDX-License-Identifier: Apache-2.0
# As a part of another project, libprof leaves no cache variables but PROF_* there: where CMake's modules found fmt, or
# the folders of an installation, is the other project's to decide.
include_guard(GLOBAL)

# prof_remember_cache(): what is in the cache now stays.
function(prof_remember_cache)
    get_property(known DIRECTORY PROPERTY CACHE_VARIABLES)
    set_property(DIRECTORY PROPERTY prof_known_cache "${known}")
endfunction()

# prof_forget_new_cache([ONLY <regex>]): removes what was added to the cache after prof_remember_cache.
# REQUIRES: no rule that reads such a variable follows.
function(prof_forget_new_cache)
    cmake_parse_arguments(arg "" "ONLY" "" ${ARGN})
    if(PROJECT_IS_TOP_LEVEL)
        return()
    endif()
    get_property(known DIRECTORY PROPERTY prof_known_cache)
    get_property(new DIRECTORY PROPERTY CACHE_VARIABLES)
    list(REMOVE_ITEM new ${known})
    list(FILTER new EXCLUDE REGEX "^(PROF_|prof_)")
    if(arg_ONLY)
        list(FILTER new INCLUDE REGEX "${arg_ONLY}")
    endif()
    foreach(variable IN LISTS new)
        unset(${variable} CACHE)
    endforeach()
endfunction()
