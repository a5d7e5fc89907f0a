#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Builds a reproducer and runs it as PID 1 of an emulated machine with three CPUs.
#   sh run.sh IMAGE stale-read/stale_read.c lazyfree 500
#   ARCH=arm64 sh run.sh IMAGE contiguous-restore/contiguous_restore.c
# IMAGE is an x86-64 bzImage, or an arm64 Image, with CONFIG_SMP, CONFIG_DEVTMPFS, CONFIG_EXT4_FS,
# CONFIG_BLK_DEV_RAM and a serial console. Each emulated CPU is a thread of its own (thread=multi);
# COUNT=1 has them run by turns instead, on x86-64, an instruction a nanosecond.
set -eu

image=$1
source=$2
shift 2
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ "${ARCH:-x86_64}" = arm64 ]; then
    compiler=aarch64-linux-gnu-gcc
    console=ttyAMA0
    set -- -- "$@"
    machine="qemu-system-aarch64 -M virt,gic-version=3 -cpu max -smp 3"
else
    compiler=gcc
    # The emulated TSC is the host's, and calibration fails on a loaded host.
    khz=$(awk '/^cpu MHz/ { printf "%d", $4 * 1000; exit }' /proc/cpuinfo)
    [ -z "${COUNT:-}" ] || khz="1000000 nolapic_timer"
    console=ttyS0
    set -- tsc=reliable "tsc_early_khz=$khz" -- "$@"
    machine="qemu-system-x86_64 -M q35 -cpu max -smp 3,sockets=3"
fi

mkdir "$work/root" "$work/root/dev"
mknod "$work/root/dev/console" c 5 1
"$compiler" -O2 -Wall -static -pthread -o "$work/root/init" "$here/$source"
truncate -s 16M "$work/root/fs.img"
mke2fs -q -t ext4 -b 4096 "$work/root/fs.img"
(cd "$work/root" && find . | cpio --quiet -o -H newc) >"$work/initrd"

accel="-accel tcg,thread=multi"
[ -z "${COUNT:-}" ] || accel="-accel tcg -icount shift=0,sleep=off"

# shellcheck disable=SC2086 # the machine and the accelerator are several words
timeout "${LIMIT:-120}" $machine -m 512M $accel -display none -monitor none \
    -serial stdio -no-reboot -nodefaults -kernel "$image" -initrd "$work/initrd" \
    -append "console=$console panic=-1 quiet loglevel=${LOGLEVEL:-3} $*"
