#!/bin/sh
# Runs every fuzz target of the module, one after the other, each for a short
# time. It is quiet about those that find nothing.
#
# Usage: tools/fuzz.sh TIME

set -eu

time=${1:?usage: tools/fuzz.sh TIME, such as 3s}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# A folder testdata may hold modules of its own.
grep -rn '^func Fuzz' --include='*_test.go' --exclude-dir=testdata . | sort |
	sed 's|^\(.*\)/[^/]*:[0-9]*:func \(Fuzz[A-Za-z0-9_]*\).*|\1 \2|' |
	while read -r dir target; do
		# (Minimizing inputs that are merely interesting would take all the time.)
		if ! go test -run='^$' -fuzz="^$target\$" -fuzztime="$time" -fuzzminimizetime=1x "$dir" >"$log" 2>&1 </dev/null; then
			# The go command may take the end of the time for a failure of the
			# target (known of the fuzzer): then there is no failing input.
			if grep -q '^ *context deadline exceeded$' "$log" && ! grep -q 'Failing input\|panic:' "$log"; then
				echo "fuzz: $dir $target: nothing found in $time"
				continue
			fi
			cat "$log"
			echo "fuzz: $dir $target failed; the input is in $dir/testdata/fuzz" >&2
			exit 1
		fi
		echo "fuzz: $dir $target: nothing found in $time"
	done
