#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Runs a command of pageout's lab with the plugin irqs-off.c in each arm64 machine of one CPU, and
# prints the longest sections with interrupts off, in instructions. Of several machines the last
# counts, so give it one kernel and one cell:
#
#   sh irqs-off.sh pageout lab run q16 reclaim-file order=4 --config arm64-4k --runs 1
set -eu

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cc -O2 -Wall -Wextra -shared -fPIC -fvisibility=hidden -I "$here/../../plugin" \
    -o "$work/irqs-off.so" "$here/irqs-off.c"
QEMU=$(command -v qemu-system-aarch64)
export QEMU IRQS_OFF="$work"

cat >"$work/qemu-system-aarch64" <<'END'
#!/bin/sh
for argument; do
    [ "${option:-}" = -kernel ] && map=${argument%/*}/System.map
    option=$argument
done
if [ -n "${map:-}" ]; then
    sort "$map" >"$IRQS_OFF/symbols"
    lock=$(awk 'is { print "lock=" at ",end=" $1; exit }
        $3 == "_raw_spin_lock_irq" { is = 1; at = $1 }' "$IRQS_OFF/symbols")
    set -- "$@" -plugin "$IRQS_OFF/irqs-off.so,$lock,out=$IRQS_OFF/sections"
fi
exec "$QEMU" "$@"
END
chmod +x "$work/qemu-system-aarch64"
PATH=$work:$PATH "$@" >&2

# Both are sorted by address: each call belongs to the last symbol before it.
echo "longest  sections  mean  function"
sort "$work/sections" | awk -v symbols="$work/symbols" '
    {
        while (next_at <= $1 && !ended) {
            name = next_name
            do ended = (getline line < symbols) <= 0
            while (!ended && split(line, word) && word[2] !~ /^[tTwW]$/)
            next_at = ended ? "g" : word[1]
            next_name = word[3]
        }
        printf "%7d %9d %5d  %s\n", $3, $2, $4 / $2, name
    }' | sort -rn
