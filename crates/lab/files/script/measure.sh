#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Measures the kernel that runs on this machine, and prints records that `pageout compare` reads.
# Self-contained: the source of what it runs is below; it takes a C compiler.
# Run it under each kernel, then: pageout compare before.json after.json
set -eu

# The workload with a manifest that is inside, if it is not the benchmark; and whether it swaps.
@WORKLOAD@

usage() {
    cat <<'EOF'
usage: sudo sh measure.sh [OPTION]... @ARGUMENTS@

  --dir DIR       directory with large folios, such as of XFS [default: .]
  --kernel NAME   name of this kernel in the records [default: uname -r]
  --runs N        samples a scenario [default: 7]
  --output FILE   file for the records [default: standard output]
  --dry-run       check this machine and compile the program; measure nothing
  --help          this text

@ABOUT@
EOF
}

say() { printf 'measure.sh: %s\n' "$*" >&2; }

die() {
    say "error: $*"
    exit 2
}

# --- arguments ------------------------------------------------------------------------------------

dir=. kernel=$(uname -r) runs=7 output='' dry_run=no
while [ $# -gt 0 ]; do
    case $1 in
    --help) usage && exit 0 ;;
    --dry-run) dry_run=yes && shift && continue ;;
    --dir | --kernel | --runs | --output) [ $# -ge 2 ] || die "$1 needs a value" ;;
    -*) die "unknown option $1 (--help lists them)" ;;
    *) break ;;
    esac
    case $1 in
    --dir) dir=$2 ;;
    --kernel) kernel=$2 ;;
    --runs) runs=$2 ;;
    --output) output=$2 ;;
    esac
    shift 2
done
case $runs in '' | *[!0-9]* | 0*) die "--runs $runs: a number from 1 is accepted" ;; esac
case $kernel in '' | *[!A-Za-z0-9._+~:-]*)
    die "--kernel $kernel: letters, digits and . _ + ~ : - are accepted" ;;
esac
dir=$(cd "$dir" 2>/dev/null && pwd) || die "--dir: no such directory"
[ -z "$workload" ] || set -- "$workload" "$@"

# --- what this machine must have ------------------------------------------------------------------

missing=0
need() {
    say "missing: $*"
    missing=$((missing + 1))
}
# What every scenario of the benchmark needs, and only some workloads do: these say so themselves.
expect() {
    if [ -n "$workload" ]; then say "note: a workload may need $*"; else need "$@"; fi
}

file_system=$(stat -f -c %T "$dir")
cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
memory_kb=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
lru_gen=/sys/kernel/mm/lru_gen/enabled
[ "$(uname -s)" = Linux ] || need "Linux"
[ "$(id -u)" = 0 ] || need "root (run it with sudo)"
command -v cc >/dev/null || need "a C compiler, cc (Debian: gcc and libc6-dev)"
[ -n "$cgroups" ] || expect "cgroup v2, mounted (systemd.unified_cgroup_hierarchy=1)"
[ -z "$cgroups" ] || grep -qw memory "$cgroups/cgroup.controllers" ||
    expect "the memory controller in cgroup v2 ($cgroups/cgroup.controllers has none)"
case $file_system in
xfs | btrfs | bcachefs) ;;
ext2/ext3) say "note: $dir is on ext4, which has large folios since Linux 6.16; XFS is safe" ;;
*) expect "a file system with large folios for --dir ($dir is on $file_system; XFS is safe)" ;;
esac
if [ "$swaps" = yes ]; then
    [ "$(wc -l </proc/swaps)" -le 1 ] || need "no other swap (swapoff -a)"
    [ -e /sys/block/zram0 ] || modprobe zram 2>/dev/null || need "zram (modprobe zram)"
fi
[ "$memory_kb" -ge 1572864 ] || need "1.5 GiB of available memory ($((memory_kb / 1024)) MiB are)"
awk '{ exit !($1 > 0.5) }' /proc/loadavg &&
    say "note: other work is running (load $(cut -d' ' -f1 /proc/loadavg)); times will vary"
governor=$(cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor 2>/dev/null || true)
case $governor in '' | performance) ;;
*) say "note: the CPU's frequency may change (its governor is $governor)" ;;
esac

# --- cleaning up, whatever happens ----------------------------------------------------------------

work='' cgroup='' running=''
clean_up() {
    status=$?
    trap '' HUP INT TERM
    if [ -n "$running" ] && kill "$running" 2>/dev/null; then
        wait "$running" || true
    fi
    if [ -n "$cgroup" ] && [ "$swaps" = yes ]; then
        stop_swapping
    fi
    for left in "$cgroup" "$cgroup-flush"; do
        if [ -z "$cgroup" ] || ! [ -d "$left" ]; then
            continue
        fi
        echo 1 >"$left/cgroup.kill" 2>/dev/null || true
        sleep 1
        rmdir "$left" || say "could not remove the cgroup $left"
    done
    put_back
    [ -z "$work" ] || rm -rf "$work"
    exit "$status"
}

# Ends the swapping that a workload began: there was none before.
stop_swapping() {
    sed -n '2,$s/ .*//p' /proc/swaps | while read -r device; do
        swapoff "$device" || say "could not stop swapping to $device"
        case $device in */zram*) echo 1 >"/sys/block/${device##*/}/reset" ;; esac
    done
}

# Keeps a setting, so that it can be put back. Of a choice, the one in brackets is the setting.
keep() {
    printf '%s %s\n' "$1" "$(sed 's/.*\[\(.*\)\].*/\1/' "$1")" >>"$work/settings"
}

put_back() {
    if [ -z "$work" ] || ! [ -e "$work/settings" ]; then
        return
    fi
    while read -r file value; do
        echo "$value" >"$file" || say "could not put back $value in $file"
    done <"$work/settings"
}

trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# --- the program ----------------------------------------------------------------------------------

compile() {
    work=$(mktemp -d "$dir/pageout-measure.XXXXXX")
    (cd "$work" && unpack &&
        find . -path ./w -prune -o -name '*.c' -exec sh -c '
            libraries=$1
            shift
            cc -O2 -std=gnu11 -Wall -I pageout-lab -o program "$@" $libraries
        ' sh "$libraries" {} +) ||
        die "the program does not compile (cc's message is above)"
}

unpack() {
    :
@SOURCES@
}

# One scenario; its records go to $work/records, one a line.
measure() {
    say "measuring: $*"
    "$work/program" "$@" kernel="$kernel" clock=time runs="$runs" dir="$work" cgroup="$cgroup" \
        >"$work/out" &
    running=$!
    if wait "$running"; then running=''; else
        running=''
        die "it failed: $* (its message is above)"
    fi
    sed -n 's/^record //p' "$work/out" >>"$work/records"
}

# A text as JSON has it: nothing that would need an escape is left in it.
text() { printf '"%s"' "$(printf %s "$1" | tr -d '\000-\037"\134')"; }

cpu_name() {
    name=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)
    [ -n "$name" ] || name=$(lscpu 2>/dev/null | sed -n 's/^Model name: *//p' | head -n 1)
    printf %s "${name:-unknown}"
}

print_records() {
    printf '{\n  "schema": "pageout-record",\n  "version": 2,\n  "sets": [{\n  "run": {\n'
    printf '    "id": "%s",\n' "$(cat /proc/sys/kernel/random/uuid)"
    printf '    "tool": "pageout lab script",\n    "machine": {\n'
    printf '      "cpu": %s,\n      "arch": %s,\n' "$(text "$(cpu_name)")" "$(text "$(uname -m)")"
    printf '      "cores": %d,\n' "$(getconf _NPROCESSORS_ONLN)"
    total_kb=$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)
    printf '      "memory_mib": %d,\n' "$((total_kb / 1024))"
    printf '      "os": %s\n    }\n  },\n  "records": [\n' "$(text "Linux $(uname -r)")"
    sed '$!s/$/,/; s/^/    /' "$work/records"
    printf '  ]\n  }]\n}\n'
}

compile_and_check() {
    compile
    [ "$missing" = 0 ] || die "$missing thing(s) missing, listed above; nothing was measured"
}

if [ "$dry_run" = yes ]; then
    command -v cc >/dev/null && compile && say "the program compiles"
    say "would measure ${*:-reclaim-file order=4, classic and mglru} as kernel=$kernel in $dir"
    [ "$missing" = 0 ] || say "$missing thing(s) missing, listed above; a real run would stop here"
    exit 0
fi

compile_and_check
cgroup=$cgroups/pageout-measure.$$
[ ! -e "$lru_gen" ] || keep "$lru_gen"
if [ -n "$workload" ]; then
    # Anonymous folios as after a boot, which is what a workload sets out from.
    for file in /sys/kernel/mm/transparent_hugepage/hugepages-*kB/enabled; do
        [ -e "$file" ] || continue
        keep "$file"
        case $file in *-2048kB/*) echo always >"$file" ;; *) echo never >"$file" ;; esac
    done
    file=/sys/class/bdi/$(findmnt -n -o MAJ:MIN -T "$dir")/read_ahead_kb
    [ ! -e "$file" ] || keep "$file"
fi
if [ $# -gt 0 ]; then
    measure "$@"
else
    measure reclaim-file order=4 lru=classic
    [ ! -e "$lru_gen" ] || measure reclaim-file order=4 lru=mglru
fi
if [ -n "$output" ]; then
    print_records >"$work/complete.json" && mv "$work/complete.json" "$output"
    say "records are in $output"
else
    print_records
fi
