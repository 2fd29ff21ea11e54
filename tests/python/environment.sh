# SPDX-License-Identifier: Apache-2.0
# For scripts that make Python environments under build/, each once for a list of packages.

# The interpreter of a version, such as 3.12. Exits with 77 where the machine has none.
find_python() {
    local python
    python=$(command -v "python$1" || ls -d ~/.pyenv/versions/"$1".*/bin/python 2> /dev/null | tail -n 1 || true)
    # A shim of pyenv's may stand for a Python that is not chosen.
    if [[ -z $python ]] || ! "$python" -c '' 2> /dev/null; then
        python=$(ls -d ~/.pyenv/versions/"$1".*/bin/python 2> /dev/null | tail -n 1 || true)
    fi
    [[ -n $python ]] || { echo "no Python $1" >&2; exit 77; }
    echo "$python"
}

# Makes the environment build/<name>-<a number for the packages> with the function install_packages, which is given
# pip's command, unless it is there; prints its interpreter. Of processes that want the same one at once, one makes it.
make_environment() {
    local name=$1 python=$2 list=$3
    local place=build/$name-$(echo "$list" | cksum | cut -d ' ' -f 1)
    mkdir -p build
    exec 9> "$place.lock"
    flock 9
    if [[ ! -e $place/complete ]]; then
        rm -rf "$place"
        "$python" -m venv "$place" >&2
        install_packages "$place/bin/python" -m pip install --quiet --disable-pip-version-check >&2
        touch "$place/complete"
    fi
    echo "$PWD/$place/bin/python"
}
