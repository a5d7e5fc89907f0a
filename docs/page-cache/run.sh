#!/bin/sh
. ./lab.sh

cgroup=/sys/fs/cgroup/page-cache
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir "$cgroup" && echo $$ >"$cgroup/cgroup.procs" || lab_fail "no cgroup"
truncate -s "$LAB_SIZE" /mnt/file
while lab_sample; do
    lab_begin read
    cat /mnt/file >/dev/null
    lab_end read $((LAB_SIZE / 4096))
    lab_begin reclaim
    echo "$LAB_SIZE" >"$cgroup/memory.reclaim"
    lab_end reclaim $((LAB_SIZE / 4096))
done
