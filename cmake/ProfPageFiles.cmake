# SPDX-License-Identifier: Apache-2.0
# Makes a C++ file of the script and the style sheet of a page.
# cmake -DSCRIPTS=a.js|b.js -DSTYLES=a.css -DOUTPUT=page_files.cpp -P ProfPageFiles.cmake
#
# All scripts are one function, without the lines and blocks that are nothing but comments, and without indentation: a page
# is sent by mail. REQUIRES: no text of a script is longer than a line.

# The files, one after another, as `name`.
function(joined name files)
    string(REPLACE "|" ";" files "${files}")
    set(all "")
    foreach(file IN LISTS files)
        file(READ "${file}" text)
        string(APPEND all "${text}\n")
    endforeach()
    set(${name} "${all}" PARENT_SCOPE)
endfunction()

function(without_comments name)
    set(text "\n${${name}}")
    string(REGEX REPLACE "\n[ \t]*/\\*([^*]|\\*+[^*/])*\\*+/[ \t]*" "\n" text "${text}")
    string(REGEX REPLACE "\n[ \t]*//[^\n]*" "" text "${text}")
    string(REGEX REPLACE "\n[ \t\n]+" "\n" text "${text}")
    set(${name} "${text}" PARENT_SCOPE)
endfunction()

joined(script "${SCRIPTS}")
joined(style "${STYLES}")
without_comments(script)
without_comments(style)
set(licence "SPDX-License-Identifier: Apache-2.0")
set(script "\n// ${licence}\n(() => {\n\"use strict\";${script}})();\n")
set(style "\n/* ${licence} */${style}")
foreach(part IN ITEMS script style)
    string(TOLOWER "${${part}}" small)
    foreach(end IN ITEMS "</script" "</style" "<!--")
        string(FIND "${small}" "${end}" at)
        if(NOT at EQUAL -1)
            message(FATAL_ERROR "the ${part} of the page has \"${end}\", which would end its element")
        endif()
    endforeach()
    string(FIND "${${part}}" ")prof_page\"" at)
    if(NOT at EQUAL -1)
        message(FATAL_ERROR "the ${part} of the page has the mark that ends it")
    endif()
endforeach()

# Literals of a compiler have a limit of 64 KiB.
function(literals name text)
    set(out "")
    string(LENGTH "${text}" length)
    set(at 0)
    while(at LESS length)
        string(SUBSTRING "${text}" ${at} 16000 piece)
        string(APPEND out "    R\"prof_page(${piece})prof_page\"\n")
        math(EXPR at "${at} + 16000")
    endwhile()
    set(${name} "${out}" PARENT_SCOPE)
endfunction()

literals(script_literals "${script}")
literals(style_literals "${style}")
file(WRITE "${OUTPUT}" "// SPDX-License-Identifier: Apache-2.0
// Made by cmake/ProfPageFiles.cmake.
#include \"export/page/page_files.hpp\"

namespace prof {

std::string_view page_script() noexcept {
    return
${script_literals}        ;
}

std::string_view page_style() noexcept {
    return
${style_literals}        ;
}

}  // namespace prof
")
