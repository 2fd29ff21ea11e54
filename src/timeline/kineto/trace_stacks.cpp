// SPDX-License-Identifier: Apache-2.0
#include "timeline/kineto/trace_stacks.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace prof {
namespace {

// What is imported under these names is Python's own or a well-known package, in the order of bytes.
constexpr std::string_view library_names[] = {"PIL",
                                              "_collections_abc",
                                              "_pydecimal",
                                              "_pyio",
                                              "_strptime",
                                              "_weakrefset",
                                              "abc",
                                              "accelerate",
                                              "aifc",
                                              "apex",
                                              "argparse",
                                              "array",
                                              "ast",
                                              "asynchat",
                                              "asyncio",
                                              "asyncore",
                                              "atexit",
                                              "audioop",
                                              "base64",
                                              "bdb",
                                              "binascii",
                                              "bisect",
                                              "bitsandbytes",
                                              "builtins",
                                              "bz2",
                                              "cProfile",
                                              "calendar",
                                              "cgi",
                                              "cgitb",
                                              "chunk",
                                              "cloudpickle",
                                              "cmath",
                                              "cmd",
                                              "code",
                                              "codecs",
                                              "codeop",
                                              "collections",
                                              "colorsys",
                                              "compileall",
                                              "composer",
                                              "concurrent",
                                              "configparser",
                                              "contextlib",
                                              "contextvars",
                                              "copy",
                                              "copyreg",
                                              "crypt",
                                              "csv",
                                              "ctypes",
                                              "cupy",
                                              "curses",
                                              "dataclasses",
                                              "datasets",
                                              "datetime",
                                              "dbm",
                                              "decimal",
                                              "deepspeed",
                                              "difflib",
                                              "diffusers",
                                              "dill",
                                              "dis",
                                              "distutils",
                                              "doctest",
                                              "einops",
                                              "email",
                                              "encodings",
                                              "ensurepip",
                                              "enum",
                                              "errno",
                                              "fairscale",
                                              "fastai",
                                              "faulthandler",
                                              "fcntl",
                                              "filecmp",
                                              "fileinput",
                                              "filelock",
                                              "flash_attn",
                                              "flax",
                                              "fnmatch",
                                              "fractions",
                                              "fsspec",
                                              "ftplib",
                                              "functools",
                                              "gc",
                                              "genericpath",
                                              "getopt",
                                              "getpass",
                                              "gettext",
                                              "glob",
                                              "graphlib",
                                              "grp",
                                              "gzip",
                                              "hashlib",
                                              "heapq",
                                              "hmac",
                                              "html",
                                              "http",
                                              "huggingface_hub",
                                              "hydra",
                                              "ignite",
                                              "imaplib",
                                              "imghdr",
                                              "imp",
                                              "importlib",
                                              "inspect",
                                              "io",
                                              "ipaddress",
                                              "itertools",
                                              "jax",
                                              "jaxlib",
                                              "joblib",
                                              "json",
                                              "keyword",
                                              "lightning",
                                              "lightning_fabric",
                                              "lightning_utilities",
                                              "linecache",
                                              "locale",
                                              "logging",
                                              "lzma",
                                              "mailbox",
                                              "mailcap",
                                              "marshal",
                                              "math",
                                              "matplotlib",
                                              "megatron",
                                              "mimetypes",
                                              "mmap",
                                              "modulefinder",
                                              "monai",
                                              "multiprocess",
                                              "multiprocessing",
                                              "nemo",
                                              "netrc",
                                              "nis",
                                              "nntplib",
                                              "ntpath",
                                              "nturl2path",
                                              "numba",
                                              "numbers",
                                              "numpy",
                                              "omegaconf",
                                              "opcode",
                                              "operator",
                                              "optax",
                                              "optparse",
                                              "os",
                                              "ossaudiodev",
                                              "packaging",
                                              "pandas",
                                              "pathlib",
                                              "pdb",
                                              "peft",
                                              "pickle",
                                              "pickletools",
                                              "pipes",
                                              "pkg_resources",
                                              "pkgutil",
                                              "platform",
                                              "plistlib",
                                              "poplib",
                                              "posix",
                                              "posixpath",
                                              "pprint",
                                              "profile",
                                              "pstats",
                                              "psutil",
                                              "pty",
                                              "pwd",
                                              "py_compile",
                                              "pyarrow",
                                              "pyclbr",
                                              "pydoc",
                                              "pydoc_data",
                                              "pyexpat",
                                              "pytorch_lightning",
                                              "queue",
                                              "quopri",
                                              "random",
                                              "ray",
                                              "re",
                                              "readline",
                                              "regex",
                                              "reprlib",
                                              "requests",
                                              "resource",
                                              "rlcompleter",
                                              "runpy",
                                              "safetensors",
                                              "sched",
                                              "scipy",
                                              "secrets",
                                              "select",
                                              "selectors",
                                              "setuptools",
                                              "shelve",
                                              "shlex",
                                              "shutil",
                                              "signal",
                                              "site",
                                              "six",
                                              "skimage",
                                              "sklearn",
                                              "skorch",
                                              "smtpd",
                                              "smtplib",
                                              "sndhdr",
                                              "socket",
                                              "socketserver",
                                              "spwd",
                                              "sqlite3",
                                              "sre_compile",
                                              "sre_constants",
                                              "sre_parse",
                                              "ssl",
                                              "stat",
                                              "statistics",
                                              "string",
                                              "stringprep",
                                              "struct",
                                              "subprocess",
                                              "sunau",
                                              "symtable",
                                              "sys",
                                              "sysconfig",
                                              "syslog",
                                              "tabnanny",
                                              "tarfile",
                                              "telnetlib",
                                              "tempfile",
                                              "tensorboard",
                                              "tensorboardX",
                                              "termios",
                                              "textwrap",
                                              "threading",
                                              "time",
                                              "timeit",
                                              "timm",
                                              "token",
                                              "tokenize",
                                              "tokenizers",
                                              "tomllib",
                                              "torch",
                                              "torch_geometric",
                                              "torchao",
                                              "torchaudio",
                                              "torchdata",
                                              "torchmetrics",
                                              "torchtext",
                                              "torchtitan",
                                              "torchvision",
                                              "tqdm",
                                              "trace",
                                              "traceback",
                                              "tracemalloc",
                                              "transformers",
                                              "triton",
                                              "trl",
                                              "tty",
                                              "types",
                                              "typing",
                                              "typing_extensions",
                                              "unicodedata",
                                              "unittest",
                                              "urllib",
                                              "urllib3",
                                              "uu",
                                              "uuid",
                                              "venv",
                                              "vllm",
                                              "wandb",
                                              "warnings",
                                              "wave",
                                              "weakref",
                                              "webbrowser",
                                              "wsgiref",
                                              "xdrlib",
                                              "xformers",
                                              "xml",
                                              "xmlrpc",
                                              "yaml",
                                              "zipapp",
                                              "zipfile",
                                              "zipimport",
                                              "zlib",
                                              "zoneinfo"};
static_assert(std::is_sorted(std::begin(library_names), std::end(library_names)));

bool is_number(std::string_view text) noexcept {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "Tensor.item" of "method item of Tensor object at 0x7f1b", "sleep" of "function sleep".
std::string built_in(std::string_view text) {
    constexpr std::string_view function = "function ";
    constexpr std::string_view method = "method ";
    constexpr std::string_view of = " of ";
    if (text.starts_with(function)) return std::string(text.substr(function.size()));
    if (!text.starts_with(method)) return std::string(text);
    text.remove_prefix(method.size());
    const std::size_t at = text.find(of);
    const std::string_view name = text.substr(0, at);
    if (at == std::string_view::npos) return std::string(name);
    std::string_view type = text.substr(at + of.size());
    type = type.substr(0, type.find(" object at "));
    type.remove_prefix(std::min(type.rfind('.') + 1, type.size()));  // npos + 1 is 0
    if (type.empty() || type == "type") return std::string(name);
    return std::string(type).append(".").append(name);
}

}  // namespace

bool is_library_in_trace(std::string_view file) noexcept {
    constexpr std::array<std::string_view, 5> folders = {"site-packages/", "dist-packages/", "/lib/python3.",
                                                         "/lib64/python3.", "<frozen "};
    const auto is_in = [&](std::string_view folder) { return file.find(folder) != std::string_view::npos; };
    if (std::any_of(folders.begin(), folders.end(), is_in)) return true;
    std::string_view first = file.substr(0, file.find('/'));
    if (first.size() == file.size() && first.ends_with(".py")) first.remove_suffix(3);
    return std::binary_search(std::begin(library_names), std::end(library_names), first);
}

std::optional<trace_function> function_in_trace(std::string_view name) {
    constexpr std::string_view own_begin = "<built-in ";
    constexpr std::string_view separator = "): ";
    if (name.starts_with(own_begin) && name.ends_with('>')) {
        name.remove_prefix(own_begin.size());
        name.remove_suffix(1);
        return trace_function{built_in(name) + '\n', true};
    }
    for (std::size_t at = name.find(separator); at != std::string_view::npos; at = name.find(separator, at + 1)) {
        const std::size_t open = name.rfind('(', at);
        if (open == std::string_view::npos || !is_number(name.substr(open + 1, at - open - 1))) continue;
        const std::string_view file = name.substr(0, open);
        const bool is_library = is_library_in_trace(file);
        std::string text(name.substr(at + separator.size()));
        if (!is_library) text.append(" (from line ").append(name.substr(open + 1, at - open - 1)).append(")");
        return trace_function{text.append("\n").append(file), is_library};
    }
    return {};
}

void trace_stacks::settle(std::int64_t by_ns) {
    for (function& each : functions_) {
        each.start_ns += by_ns;
        each.end_ns += by_ns;
    }
    std::stable_sort(functions_.begin(), functions_.end(), [](const function& a, const function& b) {
        return std::tuple(a.start_ns, -a.end_ns) < std::tuple(b.start_ns, -b.end_ns);
    });
    std::vector<std::uint32_t> open;
    for (std::uint32_t i = 0; i < functions_.size(); ++i) {
        while (!open.empty() && functions_[open.back()].end_ns <= functions_[i].start_ns) open.pop_back();
        if (!open.empty()) functions_[i].around = open.back();
        open.push_back(i);
    }
}

void trace_stacks::find(std::int64_t ns, std::size_t most, std::vector<const function*>& out,
                        std::uint32_t& depth) const {
    out.clear();
    depth = 0;
    const auto after = std::partition_point(functions_.begin(), functions_.end(),
                                            [&](const function& each) { return each.start_ns <= ns; });
    // The one that began last, or ones around it. (Of none the index is UINT32_MAX.)
    for (auto at = static_cast<std::uint32_t>(after - functions_.begin()) - 1U; at != UINT32_MAX;
         at = functions_[at].around) {
        if (functions_[at].end_ns <= ns) continue;
        if (out.size() < most) out.push_back(&functions_[at]);
        ++depth;
    }
}

}  // namespace prof
