#!/bin/sh
# photo.sh ELF OPTIONS: boots ELF with a screen and without a serial port, waits until a
# death stands on the screen, and prints the screen's text as a photo shows it.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
: >"$dir/screen"
{
	# The monitor of QEMU writes the 80 by 25 characters of the screen to a file.
	until LC_ALL=C tr -cd ' -~' <"$dir/screen" | grep -q 'the end'; do
		echo "pmemsave 0xb8000 4000 \"$dir/screen\""
		sleep 0.1
	done
	echo quit
} | qemu-system-x86_64 -kernel "$1" -append "$2 panic=halt" -display none -vga std \
	-serial none -monitor stdio >/dev/null
# Each character has its colour behind it.
od -An -v -tu1 -w2 "$dir/screen" | awk '{ printf "%c", $1 }' | fold -w 80 | sed 's/ *$//' | grep .
