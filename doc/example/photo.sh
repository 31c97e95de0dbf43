#!/bin/sh
# photo.sh ELF OPTIONS FOLDER: boots ELF with a screen and without a serial port, waits until a
# crash is on the screen, and saves a picture of each of its pages: FOLDER/1.png and so on.
set -eu
export LC_ALL=C
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
: >"$dir/screen"
mkdir -p "$3"
# text prints the text of the screen; a byte for its colour follows each character.
text() { od -An -v -tu1 -w2 "$dir/screen" | awk '{ printf "%c", $1 }'; }
{
	page=1 pages=1
	while [ "$page" -le "$pages" ]; do
		# The monitor of QEMU writes the 80 by 25 characters to a file. The page is complete when it
		# has its number and is the same twice.
		until text | grep -q "code $page of" && cmp -s "$dir/screen" "$dir/before"; do
			cp "$dir/screen" "$dir/before"
			echo "pmemsave 0xb8000 4000 \"$dir/screen\""
			sleep 0.1
		done
		# QEMU saves the picture before it does the next thing.
		echo "screendump \"$3/$page.png\" -f png"
		pages=$(text | sed -n 's/.*code [0-9]* of \([0-9]*\),.*/\1/p')
		page=$((page + 1))
		echo "sendkey spc"
	done
	echo quit
} | qemu-system-x86_64 -kernel "$1" -append "$2 panic=halt" -display none -vga std \
	-serial none -monitor stdio >/dev/null
