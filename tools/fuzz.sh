#!/bin/sh
# Runs every fuzz target of the module, each for a short time, as many at once as
# there are processors. It is quiet about those that find nothing.
#
# Usage: tools/fuzz.sh TIME [FOLDER TARGET]

set -eu

time=${1:?usage: tools/fuzz.sh TIME [FOLDER TARGET], such as 3s}

if [ $# -eq 1 ]; then
	# A folder testdata may hold modules of its own. (xargs says 123 for any failure.)
	grep -rn '^func Fuzz' --include='*_test.go' --exclude-dir=testdata . | sort |
		sed 's|^\(.*\)/[^/]*:[0-9]*:func \(Fuzz[A-Za-z0-9_]*\).*|\1 \2|' |
		xargs -P "$(getconf _NPROCESSORS_ONLN)" -L 1 "$0" "$time"
	exit
fi

dir=$2 target=$3
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# One worker each, since others run beside it. (Minimizing inputs that are merely
# interesting would take all the time.)
if ! go test -run='^$' -fuzz="^$target\$" -fuzztime="$time" -parallel=1 -fuzzminimizetime=1x "$dir" >"$log" 2>&1 </dev/null; then
	# The go command may take the end of the time for a failure of the target
	# (known of the fuzzer): then there is no failing input.
	if ! grep -q '^ *context deadline exceeded$' "$log" || grep -q 'Failing input\|panic:' "$log"; then
		cat "$log"
		echo "fuzz: $dir $target failed; the input is in $dir/testdata/fuzz" >&2
		exit 1
	fi
fi
echo "fuzz: $dir $target: nothing found in $time"
