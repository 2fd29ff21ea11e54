# As a part of another project, libprof leaves no cache variables but PROF_* there: where CMake's modules found fmt, or
# the folders of an installation, is the other project's to decide.
include_guard(GLOBAL)

# prof_remember_cache(): what is in the cache now stays.
function(prof_remember_cache)
    get_property(known DIRECTORY PROPERTY CACHE_VARIABLES)
    set_property(DIRECTORY PROPERTY prof_known_cache "${known}")
endfunction()

# prof_forget_new_cache(): removes what was added to the cache after prof_remember_cache. REQUIRES: no rule that reads such
# a variable follows.
macro(prof_forget_new_cache)
    if(NOT PROJECT_IS_TOP_LEVEL)
        get_property(prof_known DIRECTORY PROPERTY prof_known_cache)
        get_property(prof_new DIRECTORY PROPERTY CACHE_VARIABLES)
        list(REMOVE_ITEM prof_new ${prof_known})
        list(FILTER prof_new EXCLUDE REGEX "^(PROF_|prof_)")
        foreach(prof_variable IN LISTS prof_new)
            unset(${prof_variable} CACHE)
        endforeach()
    endif()
endmacro()
