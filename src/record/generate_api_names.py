#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/record/api_names.cpp: CUPTI's callback ids and the names of their CUDA API calls.

    src/record/generate_api_names.py <folder with cupti_runtime_cbid.h and cupti_driver_cbid.h>

Give it the newest CUPTI there is: ids are only ever added.
"""
import pathlib
import re
import sys

PROLOGUE = '''// Written by src/record/generate_api_names.py from CUPTI's headers; do not edit.
#include "record/api_names.hpp"

#include <iterator>

namespace prof {
namespace {

'''

EPILOGUE = '''}  // namespace

std::string_view api_name(api_domain domain, std::uint32_t callback_id) noexcept {
    if (domain == api_domain::runtime && callback_id < std::size(runtime_names)) return runtime_names[callback_id];
    if (domain == api_domain::driver && callback_id < std::size(driver_names)) return driver_names[callback_id];
    return {};
}

}  // namespace prof
'''


def plain_name(entry_point):
    """The name a programmer writes for an entry point."""
    name = re.sub(r"_v\d+", "", entry_point)
    name = re.sub(r"_pt[ds][sz]$", "", name)
    return name.lstrip("_")


def names_by_id(header, domain):
    pattern = re.compile(rf"CUPTI_{domain}_TRACE_CBID_(\w+)\s*=\s*(\d+)\b(?!x)")
    names = {}
    for name, number in pattern.findall(header.read_text()):
        if name not in ("INVALID", "SIZE", "FORCE_INT"):
            names[int(number)] = plain_name(name)
    return [names.get(number, "") for number in range(max(names) + 1)]


def table(variable, names):
    lines = [f"// clang-format off\nconstexpr std::string_view {variable}[] = {{"]
    line = "   "
    for name in names:
        item = f' "{name}",'
        if len(line) + len(item) > 120:
            lines.append(line)
            line = "   "
        line += item
    lines += [line, "};", "// clang-format on", ""]
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    headers = pathlib.Path(sys.argv[1])
    text = (
        PROLOGUE
        + table("runtime_names", names_by_id(headers / "cupti_runtime_cbid.h", "RUNTIME"))
        + table("driver_names", names_by_id(headers / "cupti_driver_cbid.h", "DRIVER"))
        + EPILOGUE
    )
    target = pathlib.Path(__file__).resolve().with_name("api_names.cpp")
    target.write_text(text)


if __name__ == "__main__":
    main()
