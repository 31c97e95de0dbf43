#!/bin/sh
# Installs what a make target needs and is not there, with the system's own
# package manager, and says first what it is about to do. When everything is
# there it does nothing and says nothing, so that a target can always call it.
#
# Usage: tools/setup.sh run|boot|test
#
#   run    QEMU
#   boot   QEMU, Bochs, and what real machines start from: grub-mkrescue with GRUB for BIOS
#          and UEFI, xorriso, mtools, and UEFI firmware for QEMU (OVMF)
#   test   the same, gdb, binutils, gcc, g++, dwz, tmux, zsh, fish, debuginfod, elfutils, Chromium or
#          Chrome, and the llvm-symbolizer of the version that qemu/symbolizer names
#
# Without rights to install it prints the exact command and exits with 2.

set -eu

die() {
	echo "setup: $*" >&2
	exit 2
}

have() {
	command -v "$1" >/dev/null 2>&1
}

# The version of llvm-symbolizer that the tests use, whatever else is in PATH.
case $0 in
*/*) here=${0%/*} ;;
*) here=. ;;
esac
llvm=$(grep '^const Version = ' "$here/../qemu/symbolizer/symbolizer.go" | cut -d'"' -f2)

# The same rule as that of symbolizer.Path.
have_symbolizer() {
	have "llvm-symbolizer-$llvm" || llvm-symbolizer --version 2>/dev/null | grep -q "LLVM version $llvm\."
}

# Package names differ in few places.
package() {
	case $manager:$1 in
	apt-get:qemu) echo qemu-system-x86 ;;
	dnf:qemu) echo qemu-system-x86-core ;;
	pacman:qemu) echo qemu-system-x86 ;;
	zypper:qemu) echo qemu-x86 ;;
	apk:qemu) echo qemu-system-x86_64 ;;
	brew:qemu) echo qemu ;;
	apt-get:gcc) echo gcc libc6-dev ;;
	apk:gcc) echo gcc musl-dev ;;
	dnf:gcc) echo gcc glibc-static ;;
	zypper:gcc) echo gcc glibc-devel-static ;;
	dnf:g++ | zypper:g++) echo gcc-c++ ;;
	pacman:g++ | brew:g++) echo gcc ;;
	dnf:debuginfod) echo elfutils-debuginfod ;;
	apk:debuginfod | brew:debuginfod) echo elfutils ;;
	apt-get:clang) echo clang libclang-rt-dev ;;
	dnf:clang | pacman:clang | apk:clang) echo clang compiler-rt ;;
	brew:clang) echo llvm ;;
	apt-get:llvm) echo "llvm-$llvm" ;;
	apk:llvm) echo "llvm$llvm" ;;
	brew:llvm) echo "llvm@$llvm" ;;
	apt-get:bochs) echo bochs bochsbios vgabios ;;
	apt-get:grub) echo grub-common ;;
	apt-get:grub-bios) echo grub-pc-bin ;;
	apt-get:grub-uefi) echo grub-efi-amd64-bin ;;
	dnf:grub) echo grub2-tools-extra ;;
	dnf:grub-bios) echo grub2-pc-modules ;;
	dnf:grub-uefi) echo grub2-efi-x64-modules ;;
	zypper:grub) echo grub2 ;;
	zypper:grub-bios) echo grub2-i386-pc ;;
	zypper:grub-uefi) echo grub2-x86_64-efi ;;
	apk:grub-uefi) echo grub-efi ;;
	pacman:grub-bios | pacman:grub-uefi) echo grub ;;
	pacman:xorriso) echo libisoburn ;;
	dnf:ovmf | pacman:ovmf) echo edk2-ovmf ;;
	zypper:ovmf) echo qemu-ovmf-x86_64 ;;
	*) echo "$1" ;;
	esac
}

# Tests look for files in another root.
root=${ZF_ROOT-}

need_file() { # NAME FILE...
	name=$1
	shift
	for file; do
		[ ! -e "$root$file" ] || return 0
	done
	missing="$missing $name"
}

# The same places as those in tools/machine/iso and in qemu/uefi.go.
need_loaders() {
	have grub2-mkrescue || need grub grub-mkrescue
	need_file grub-bios /usr/lib/grub/i386-pc/multiboot.mod /usr/share/grub/i386-pc/multiboot.mod \
		/usr/lib/grub2/i386-pc/multiboot.mod /usr/share/grub2/i386-pc/multiboot.mod
	need_file grub-uefi /usr/lib/grub/x86_64-efi/multiboot.mod /usr/share/grub/x86_64-efi/multiboot.mod \
		/usr/lib/grub2/x86_64-efi/multiboot.mod /usr/share/grub2/x86_64-efi/multiboot.mod
	need xorriso xorriso
	need mtools mformat
	need_file ovmf /usr/share/OVMF/OVMF_CODE_4M.fd /usr/share/OVMF/OVMF_CODE.fd /usr/share/edk2/ovmf/OVMF_CODE.fd \
		/usr/share/edk2/x64/OVMF_CODE.4m.fd /usr/share/edk2-ovmf/x64/OVMF_CODE.fd \
		/usr/share/qemu/ovmf-x86_64-code.bin /usr/share/qemu/edk2-x86_64-code.fd
}

missing=
need() { # NAME PROGRAM...
	name=$1
	shift
	for program; do
		if ! have "$program"; then
			missing="$missing $name"
			return
		fi
	done
}

# Debian's packages have the BIOSes where qemu/loaders/bochs.go looks for them.
need_bochs() {
	if have apt-get; then
		need bochs bochs
	elif ! have bochs; then
		echo "setup: no Bochs, and no package of it that is known here: make test-boot leaves it out" >&2
	fi
}

mode=${1-}
case $mode in
run | boot | test) ;;
*) die "usage: tools/setup.sh run|boot|test" ;;
esac

find_missing() {
	missing=
	need qemu "${ZF_QEMU:-qemu-system-x86_64}"
	[ "$mode" != run ] || return 0
	need_loaders
	need_bochs
	[ "$mode" = test ] || return 0
	need gdb gdb
	need binutils addr2line objdump
	need gcc gcc
	need g++ g++
	need clang clang
	need dwz dwz
	need tmux tmux
	need zsh zsh
	need fish fish
	need debuginfod debuginfod
	need elfutils eu-addr2line
	# The same names as in tools/zf/browser_test.go.
	have chromium || have chromium-browser || have google-chrome || need chromium chromium
	have_symbolizer || missing="$missing llvm"
}

if [ -n "${ZF_QEMU-}" ] && ! have "$ZF_QEMU"; then
	die "ZF_QEMU is $ZF_QEMU, which cannot be run: correct it or unset it"
fi
find_missing
[ -n "$missing" ] || exit 0

manager=
for m in apt-get dnf pacman zypper apk brew; do
	if have "$m"; then
		manager=$m
		break
	fi
done
[ -n "$manager" ] || die "missing:$missing; found none of apt-get, dnf, pacman, zypper, apk and brew: install them by hand"

# Homebrew wants no root; every other manager does.
rights=yes
sudo=
as=
if [ "$manager" != brew ] && [ "$(id -u)" != 0 ]; then
	if have sudo; then
		sudo="sudo "
		sudo -n true >/dev/null 2>&1 || rights=no
	else
		rights=no
		as=" as root"
	fi
fi

packages() {
	list=
	for name in $missing; do
		more=$(package "$name")
		case "$list " in
		*" $more "*) ;; # one package has several things
		*) list="$list $more" ;;
		esac
	done
	echo "${list# }"
}

command_line() {
	case $manager in
	apt-get) echo "${sudo}env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $*" ;;
	dnf) echo "${sudo}dnf install -y $*" ;;
	pacman) echo "${sudo}pacman -S --needed --noconfirm $*" ;;
	zypper) echo "${sudo}zypper --non-interactive install $*" ;;
	apk) echo "${sudo}apk add $*" ;;
	brew) echo "brew install $*" ;;
	esac
}

# apt-get and pacman know no package before they have been told to look.
update=
case $manager in
apt-get) update="${sudo}apt-get update" ;;
pacman) update="${sudo}pacman -Sy" ;;
esac

if [ "$rights" = no ]; then
	echo "setup: missing:$missing, and no rights to install. Run$as:" >&2
	# shellcheck disable=SC2046
	echo "  ${update:+$update && }$(command_line $(packages))" >&2
	exit 2
fi

echo "setup: missing:$missing; installing with $manager" >&2
if [ -n "$update" ]; then
	echo "setup: $update" >&2
	$update >&2 || die "$update failed; see above"
fi
# shellcheck disable=SC2046
line=$(command_line $(packages))
echo "setup: $line" >&2
$line >&2 || die "$line failed; see above"

find_missing
case $missing in
"") ;;
*llvm*) die "still missing:$missing; the tests want LLVM $llvm, where $manager has another: https://apt.llvm.org has it for Debian and Ubuntu" ;;
*) die "still missing:$missing; $manager says it is installed: put it into PATH" ;;
esac
