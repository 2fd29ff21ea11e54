#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures libprof on one GPU: every way in, train.py with and without AMP, the same runs under
# torch.profiler, what CUPTI itself does, and what it all costs a step. Needs a build of this tree,
# PyTorch and a GPU; takes about nine minutes.
#
#   tests/lab/measure.sh OUTDIR [SECTION…]      sections: trainer waysin train recording torch conformance overhead
#                                               and, only when named: activities truth variants ranks
#
#   PROF_BUILD=DIR     the build tree (build/ at the root)
#   MEASURE_LIMIT=S    seconds for all of it (560); sections that no longer fit are reported as skipped
#
# A step that fails does not stop the others. OUTDIR gets summary.txt, results.tar.gz (tables, logs,
# verdicts), captures.tar.gz, recordings to ship and two traces: few files, none above 16 MiB.
# Exits with 0 if all went well, 1 if a step failed or was skipped, 77 if there is no GPU.
set -u

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
gpu=$root/tests/gpu
if [ $# -lt 1 ]; then
    sed -n '3,16s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
if ! nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
    echo "measure.sh: skipped, there is no GPU"
    exit 77
fi

out=$1
shift
sections=${*:-trainer waysin train recording torch conformance overhead}
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
build=$(cd "${PROF_BUILD:-$root/build}" 2>/dev/null && pwd)
first_of() {
    local candidate
    for candidate; do
        [ -e "$candidate" ] && printf '%s\n' "$candidate" && return
    done
}
prof=$(first_of "$build/bin/prof")
library=$(first_of "$build"/lib/libprof.so "$build"/lib64/libprof.so "$build"/lib/*/libprof.so)
trainer=$(first_of "$build/examples/cpp_trainer/cpp_trainer")
client=$(first_of "$build/lib/libdiscarding_client.so")
for needed in prof library trainer client; do
    if [ -z "${!needed}" ]; then
        echo "measure.sh: no $needed in the build tree '${PROF_BUILD:-$root/build}'; build it, or set PROF_BUILD" >&2
        exit 2
    fi
done
train=$root/examples/train.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
results=$work/results
captures=$work/captures
mkdir -p "$results/log" "$captures"
summary=$out/summary.txt
: >"$summary"

# A build tree that has moved no longer finds its own library, and cuBLAS lies where the toolkit or
# PyTorch put it.
look_in() {
    export LD_LIBRARY_PATH=$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}
missing=$(ldd "$trainer" 2>/dev/null | grep 'not found')
case $missing in *libprof*) look_in "$(dirname "$library")" ;; esac
case $missing in *libcublas*)
    for folder in /usr/local/cuda/lib64 /usr/local/cuda/targets/x86_64-linux/lib \
        $(python3 -c 'import nvidia; [print(f"{p}/cu13/lib") for p in nvidia.__path__]' 2>/dev/null); do
        [ -e "$folder/libcublas.so.13" ] && look_in "$folder" && break
    done ;;
esac

export PYTHONDONTWRITEBYTECODE=1
SECONDS=0
limit=${MEASURE_LIMIT:-560}
failures=0

say() { echo "$*" | tee -a "$summary"; }

# step NAME SECONDS COMMAND…: runs the command with a time limit; its output goes to log/NAME.txt
# and its last line to the summary.
step() {
    local name=$1 allowed=$2
    shift 2
    local left=$((limit - SECONDS))
    if [ "$left" -lt 5 ]; then
        say "SKIPPED  $name: no time left"
        failures=$((failures + 1))
        return 1
    fi
    [ "$allowed" -gt "$left" ] && allowed=$left
    local began=$SECONDS status=0
    timeout -k 5 "$allowed" "$@" >"$results/log/$name.txt" 2>&1 </dev/null || status=$?
    local word=ok
    if [ $status -ne 0 ]; then
        word="FAILED($status)"
        failures=$((failures + 1))
    fi
    say "$(printf '%-12s %-34s %3d s  %s' "$word" "$name" $((SECONDS - began)) \
        "$(grep -v '^[[:space:]]*$' "$results/log/$name.txt" | tail -n 1 | cut -c1-150)")"
    return $status
}

# in_folder DIR COMMAND…: runs the command in a folder of its own, where its capture lands.
in_folder() {
    mkdir -p "$1" && cd "$1" && shift && exec "$@"
}
export -f in_folder

# find_capture DIR: sets `capture` to the one capture below a folder; fails if there is none or more.
find_capture() {
    capture=$(find "$1" -name '*.prof' 2>/dev/null)
    if [ "$(printf '%s' "$capture" | grep -c .)" -ne 1 ]; then
        say "FAILED       expected one capture in ${1##*/}, found: ${capture:-none}"
        failures=$((failures + 1))
        return 1
    fi
}

# reports CAPTURE NAME: every table as JSON, and the projection as text.
reports() {
    local capture=$1 name=$2
    local report
    "$prof" report "$capture" --report gpu-projection --format table >"$results/$name.projection.txt" || return
    for report in gpu-projection kernels copies; do
        "$prof" report "$capture" --report $report --format json >"$results/$name.${report#gpu-}.json" || return
    done
    "$prof" report "$capture" --report gpu-projection --no-fold --format json >"$results/$name.iterations.json"
}
export -f reports
export prof results

# profiled NAME LIMIT COMMAND…: the command by `prof run`, its capture in $captures/NAME, its reports.
profiled() {
    local name=$1 allowed=$2 capture
    shift 2
    step "$name" "$allowed" "$prof" run -o "$captures/$name" -- "$@"
    find_capture "$captures/$name" || return
    step "$name-reports" 60 bash -c "reports '$capture' '$name'"
}

section_trainer() {
    step trainer-check 60 "$trainer" --check --device gpu
    step trainer-bare 60 "$trainer" --device gpu --steps 60
    profiled trainer 60 "$trainer" --device gpu --steps 60
    step trainer-projection 20 python3 "$gpu/check_projection.py" "$results/trainer.projection.json"
}

section_waysin() {
    local short=(python3 "$train" --layers 2 --batch 4 --seq 256 --steps 3 --warmup 1)
    local way capture
    for way in LD_PRELOAD CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH; do
        step "way-$way" 60 bash -c 'in_folder "$@"' bash "$captures/way-$way" env "$way=$library" "${short[@]}"
        find_capture "$captures/way-$way" || continue
        step "way-$way-reports" 30 bash -c "reports '$capture' 'way-$way'"
        step "way-$way-projection" 20 python3 "$gpu/check_projection.py" --adopted "$results/way-$way.projection.json"
    done
}

# name, then train.py's options, of the four runs that are compared
runs=(
    "train_amp_b16 --amp --batch 16"
    "train_amp_b2 --amp --batch 2"
    "train_noamp_b16 --no-amp --batch 16"
    "train_noamp_b2 --no-amp --batch 2"
)

section_train() {
    local run name options
    for run in "${runs[@]}"; do
        read -r name options <<<"$run"
        # shellcheck disable=SC2086  # the options are words
        profiled "$name" 90 python3 "$train" $options
        step "$name-projection" 20 python3 "$gpu/check_projection.py" --adopted "$results/$name.projection.json"
    done
    step table 20 python3 "$here/report_table.py" "$results"
}

section_torch() {
    local run name options
    for run in "${runs[@]}"; do
        read -r name options <<<"$run"
        # shellcheck disable=SC2086
        step "$name-torch" 90 python3 "$train" $options --profile-with torch --profile-output "$results/$name.torch.json"
        step "$name-compare" 20 python3 "$gpu/compare_torch.py" --prof "$results/$name.kernels.json" \
            --torch "$results/$name.torch.json" --json "$results/$name.verdict.json"
    done
}

section_conformance() {
    mkdir -p "$results/conformance"
    step conformance 90 env PROF_BUILD="$build" bash "$gpu/conformance/run.sh" "$results/conformance"
}

# Small captures to ship with the repository, and traces for the viewers. A capture contains its program's path and
# working directory: these programs are copies in a folder whose path does not identify this machine.
section_recording() {
    local capture
    mkdir -p "$work/examples"
    cp "$trainer" "$train" "$work/examples/"
    step record-trainer 60 bash -c 'in_folder "$@"' bash "$work/examples" \
        env PROF_COMPRESS=1 "$prof" run -o "$captures/recorded" -- ./cpp_trainer --device gpu --steps 12
    if find_capture "$captures/recorded"; then
        cp "$capture" "$out/h200_trainer.prof"
        step trace-trainer 30 "$prof" export "$capture" -o "$out/h200_trainer.trace.json.gz"
    fi
    step record-train 60 bash -c 'in_folder "$@"' bash "$work/examples" \
        env PROF_COMPRESS=1 "$prof" run -o "$captures/recorded-train" -- \
        python3 train.py --amp --batch 2 --steps 3 --warmup 1
    if find_capture "$captures/recorded-train"; then
        cp "$capture" "$out/h200_train.prof"
        step trace-train 30 "$prof" export "$capture" -o "$out/h200_train.trace.json.gz"
    fi
    step recording-sizes 5 bash -c "ls -l '$out'; ! find '$out' -name '*.prof' -size +2048k | grep ."
}

# libprof beside the discarding client, all in one process; torch.profiler, which stays in the way after it has stopped,
# in processes of its own.
section_overhead() {
    local workload tools=none,client,client+callbacks,prof
    step launch-cost 60 bash -c 'in_folder "$@"' bash "$work/launch-cost" \
        env LD_PRELOAD="$library" PROF_AUTOSTART=0 PROF_EXPORT=none \
        "$build/tests/lab/launch_cost/launch_cost" "$client" 30
    for workload in launch-bound gpu-bound graph-replay; do
        step "overhead-$workload" 150 bash -c 'in_folder "$@"' bash "$work/overhead-$workload" \
            env LD_PRELOAD="$library" PROF_AUTOSTART=0 PROF_EXPORT=none \
            python3 "$here/overhead.py" --tools $tools --beside client+callbacks --workload $workload --rounds 48 \
            --seconds 110 --goal prof-client+callbacks:0.01 --goal prof:0.015 --client-library "$client" \
            --json "$results/overhead-$workload.json"
        tools="client+callbacks,prof"
    done
    for tools in torch-cuda torch-cpu-cuda; do
        step "overhead-launch-bound-$tools" 60 python3 "$here/overhead.py" --tools $tools --workload launch-bound \
            --rounds 5 --steps 30 --json "$results/overhead-launch-bound-$tools.json"
    done
    step overhead-gpu-bound-torch-cuda 60 python3 "$here/overhead.py" --tools torch-cuda --workload gpu-bound \
        --rounds 5 --steps 14 --json "$results/overhead-gpu-bound-torch-cuda.json"
}

# What each kind of record costs: more and more of them beside ranges alone.
section_activities() {
    local workload activities tools=prof:activities=none
    for activities in kernels,no_launches kernels kernels,copies,sets kernels,copies,sets,waits \
        kernels,copies,sets,waits,allocations all; do
        tools=$tools,prof:activities=$activities
    done
    for workload in launch-bound gpu-bound graph-replay; do
        step "activities-$workload" 150 bash -c 'in_folder "$@"' bash "$work/activities-$workload" \
            env LD_PRELOAD="$library" PROF_AUTOSTART=0 PROF_EXPORT=none \
            python3 "$here/overhead.py" --tools "$tools" --beside prof:activities=none --workload $workload \
            --one-core --rounds 24 --seconds 100 --json "$results/activities-$workload.json"
    done
}

# Known work under known ranges, CUDA events beside them; with two GPUs also copies between those.
section_truth() {
    step truth 90 bash "$gpu/truth/run.sh" "$results/truth" "$prof" "$build/tests/gpu/truth/truth_gpu"
    step truth-one-gpu 60 env CUDA_VISIBLE_DEVICES=0 \
        bash "$gpu/truth/run.sh" "$results/truth-one-gpu" "$prof" "$build/tests/gpu/truth/truth_gpu"
}

# The ways of training that profilers find hard, against torch.profiler.
section_variants() {
    local variant name
    for variant in eager amp streams graph compile reduce-overhead; do
        name=variant-$variant
        local command=(python3 "$gpu/train_variants.py" --variant "$variant")
        case $variant in
            compile | reduce-overhead)
                step "$name" 150 "$prof" run --autostart 0 -o "$captures/$name" -- "${command[@]}" --profile-with prof
                ;;
            *) step "$name" 60 "$prof" run -o "$captures/$name" -- "${command[@]}" ;;
        esac
        find_capture "$captures/$name" && step "$name-reports" 60 bash -c "reports '$capture' '$name'"
        case $variant in
            eager | amp | streams | compile)
                step "$name-projection" 20 python3 "$gpu/check_projection.py" --adopted \
                    "$results/$name.projection.json" ;;
            graph)
                step "$name-projection" 20 python3 "$gpu/check_projection.py" \
                    "$results/$name.projection.json" --ranges data_to_device replay ;;
        esac
        step "$name-torch" 150 "${command[@]}" --profile-with torch --profile-output "$results/$name.torch.json"
        step "$name-compare" 20 python3 "$gpu/compare_torch.py" --prof "$results/$name.kernels.json" \
            --torch "$results/$name.torch.json" --json "$results/$name.verdict.json"
    done
}

# rank_reports FOLDER NAME: what check_ranks.py wants, from the ranks' captures (not the launcher's) below a folder.
rank_reports() {
    local folder=$1 into=$results/$2 capture rank
    mkdir -p "$into"
    while read -r capture; do
        rank=$(basename "$capture" | sed 's/^[^.]*\.\([0-9]*\)\..*/\1/')
        "$prof" report "$capture" --report gpu-projection --format json >"$into/rank$rank.projection.json" || return
        "$prof" report "$capture" --report kernels --format json >"$into/rank$rank.kernels.json" || return
        "$prof" export "$capture" -o "$into/rank$rank.trace.json" || return
    done < <(find "$folder" -name 'train_ddp.*.prof')
}
export -f rank_reports

# One rank for each of two GPUs, profiled from outside the launcher and from inside it.
section_ranks() {
    local launch=(python3 -m torch.distributed.run --standalone --nproc-per-node 2) name
    if [ "$(nvidia-smi -L | grep -c '^GPU')" -lt 2 ]; then
        say "not run      ranks: one GPU only"
        return
    fi
    step ranks-outside 120 "$prof" run -o "$captures/ranks-outside" -- "${launch[@]}" "$gpu/train_ddp.py"
    step ranks-inside 120 "${launch[@]}" --no-python "$prof" run -o "$captures/ranks-inside" -- \
        python3 "$gpu/train_ddp.py"
    for name in ranks-outside ranks-inside; do
        step "$name-reports" 60 bash -c "rank_reports '$captures/$name' '$name'"
        step "$name-check" 60 python3 "$gpu/check_ranks.py" "$results/$name" --ranks 2 --steps 10
        rm -f "$results/$name"/rank*.trace.json
    done
}

# pack ARCHIVE DIR PATTERN: the files so named that fit below 15 MiB when packed, smallest first.
pack() {
    local archive=$1 folder=$2 pattern=$3 file total=0 size
    local kept=()
    while read -r size file; do
        size=$(gzip -c "$folder/$file" | wc -c)
        if [ $((total + size)) -gt $((15 << 20)) ]; then
            say "left out of ${archive##*/}: $file"
            continue
        fi
        total=$((total + size))
        kept+=("$file")
    done < <(cd "$folder" && find . -type f -name "$pattern" -printf '%s %P\n' | sort -n)
    [ ${#kept[@]} -gt 0 ] && tar -C "$folder" -czf "$archive" "${kept[@]}"
}

say "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader), $(python3 -c 'import torch; print("torch", torch.__version__)' 2>&1 | tail -n 1)"
for section in $sections; do
    if ! declare -F "section_$section" >/dev/null; then
        say "FAILED       there is no section '$section'"
        failures=$((failures + 1))
        continue
    fi
    "section_$section"
done
say "$failures failed or skipped, $SECONDS s"
cp "$summary" "$results/"
pack "$out/results.tar.gz" "$results" '*'
pack "$out/captures.tar.gz" "$captures" '*.prof'
[ "$failures" -eq 0 ]
