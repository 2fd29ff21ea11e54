# SPDX-License-Identifier: Apache-2.0
# The file copyright of Debian's packages, in its machine-readable form (DEP 5), from THIRD_PARTY_NOTICES.

# TEXT as a field's continuation: lines begin with a blank, and an empty line is a dot.
function(prof_continuation text out)
    string(REGEX REPLACE "[ \n]+$" "" text "${text}")
    string(REGEX REPLACE "^\n+" "" text "${text}")
    string(REPLACE "\n" "\n " text " ${text}")
    string(REGEX REPLACE "\n +\n" "\n .\n" text "${text}")
    string(REGEX REPLACE "\n +\n" "\n .\n" text "${text}")
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

# The holders that a licence's text names, as a field.
function(prof_holders text out)
    string(REPLACE ";" "," text "${text}")
    string(REGEX MATCHALL "Copyright [(][cC][)] [^\n]*" lines "${text}")
    list(TRANSFORM lines REPLACE "^Copyright [(][cC][)] " "")
    list(TRANSFORM lines REPLACE "[.] (All rights|They are).*" "")
    list(REMOVE_DUPLICATES lines)
    list(JOIN lines "\n " text)
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

function(prof_write_copyright file)
    set(out "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: libprof

Files: *
Copyright: the authors of libprof
License: Apache-2.0
Comment:
 libprof.so and prof contain the software that the sections below name.

License: Apache-2.0
 On Debian systems the Apache License, version 2.0, is
 /usr/share/common-licenses/Apache-2.0.
")
    file(READ ${CPACK_PROF_SOURCE_DIR}/cmake/licences/THIRD_PARTY_NOTICES notices)
    # Of the Apache License, which every Debian system has, the exceptions alone remain.
    string(REGEX REPLACE "\n +Apache License\n +Version 2[.]0.*\n(--- LLVM Exceptions)"
        "\nThe Apache License, version 2.0, is /usr/share/common-licenses/Apache-2.0.\n\n\\1" notices "${notices}")
    set(rule "================================================================================\n")
    set(head "${rule}([^\n]+)\n  licence: ([^\n]+)\n  where:   ([^\n]+)\n  source:  ([^\n]+)\n${rule}")
    while(notices MATCHES "${head}")
        set(name "${CMAKE_MATCH_1}")
        set(licence "${CMAKE_MATCH_2}")
        set(where "${CMAKE_MATCH_3}")
        set(source "${CMAKE_MATCH_4}")
        string(FIND "${notices}" "${CMAKE_MATCH_0}" begin)
        string(LENGTH "${CMAKE_MATCH_0}" length)
        math(EXPR begin "${begin} + ${length}")
        string(SUBSTRING "${notices}" ${begin} -1 notices)
        string(FIND "${notices}" "${rule}" end)
        string(SUBSTRING "${notices}" 0 ${end} text)

        string(REGEX REPLACE "[ ,].*" "" licence "${licence}")
        string(REGEX REPLACE "[^A-Za-z0-9+]+" "-" folder "${name}")
        prof_holders("${text}" holders)
        prof_continuation("${text}" text)
        string(APPEND out "\nFiles: third-party/${folder}/*\nCopyright: ${holders}\nLicense: ${licence}~${folder}\n"
            "${text}\nComment:\n ${name}: ${where} (${source}).\n")
    endwhile()
    file(WRITE ${file} "${out}")
endfunction()
