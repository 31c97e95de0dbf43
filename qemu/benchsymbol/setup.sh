# Makes what figures.txt names, and prints its path: setup.sh NAME CACHE DIR. What takes long to make
# stays in CACHE; DIR is of this run.
set -eu
name=$1 cache=$2 dir=$3
{
	# get COMMAND PACKAGE: installs what is missing. keep FILE: moves a file to the cache.
	get() { command -v "$1" >/dev/null || apt-get install -y --no-install-recommends "$2"; }
	keep() { mv "$1" "$cache/$name.part" && mv "$cache/$name.part" "$cache/$name"; }
	# newest COMMAND: the path of it with the highest number, as llvm-objcopy-19.
	newest() { ls $(echo "$PATH" | tr : '\n' | sed "s,\$,/$1*,") 2>/dev/null | grep -E "/$1(-[0-9]+)?\$" | sort -t- -k3n | tail -1; }
	# fetch PACKAGE SCRIPT: runs a script where a package was downloaded to.
	fetch() {
		echo "bench-symbol: downloading $1" && cd "$dir"
		apt-get -o APT::Sandbox::User=root download "$1" && sh -c "$2" && rm -f ./*.deb
	}
	path=$cache/$name
	case $name in
	zf)
		path=$dir/zf
		CGO_ENABLED=0 go build -o "$path" ./tools/zf ;; # as the Makefile builds it
	llvm-*)
		[ "$(newest "$name")" ] || apt-get install -y "$(apt-cache search --names-only '^llvm-[0-9]+$' | sort -t- -k2n | tail -1 | cut -d' ' -f1)"
		path=$(newest "$name") ;;
	eu-addr2line)
		get eu-addr2line elfutils
		path=$(command -v eu-addr2line) ;;
	vmlinux)
		# The oldest series has one name in every Debian that has it, so that figures of different
		# days are of the same kernel. `make test-symbol` keeps one, too.
		have=$(ls "$cache"/vmlinux-* "$cache"/../debian/linux/vmlinux-* 2>/dev/null | head -1)
		if [ "${ZF_VMLINUX:-$have}" ]; then
			path=${ZF_VMLINUX:-$have}
		elif [ ! -e "$path" ]; then
			apt-get update
			fetch "$(apt-cache search --names-only '^linux-image-6\.[0-9]+\.[0-9+a-z-]*-amd64-dbg$' | grep -v -e cloud -e -rt- | sort -V | head -1 | cut -d' ' -f1)" \
				"dpkg-deb --fsys-tarfile *.deb | tar -xO --wildcards './usr/lib/debug/boot/vmlinux-*' >vmlinux"
			keep vmlinux
		fi ;;
	noaranges)
		path=$dir/$name
		objcopy -R .debug_aranges "$(sh "$0" vmlinux "$cache" "$dir")" "$path" ;;
	zlib | zstd)
		path=$dir/$name
		objcopy=$(newest llvm-objcopy)
		"${objcopy:-objcopy}" --compress-debug-sections=$name "$(sh "$0" vmlinux "$cache" "$dir")" "$path" ;;
	decode_stacktrace.sh)
		if [ ! -e "$path" ]; then
			source=$(apt-cache search --names-only '^linux-source-6\.[0-9]+$' | sort -V | head -1 | cut -d' ' -f1)
			fetch "$source" "dpkg-deb --fsys-tarfile *.deb | tar -xO --wildcards './usr/src/*.tar.xz' |
				tar -xJO --occurrence=1 '$source/scripts/$name' >$name"
			keep $name
		fi ;;
	gimli)
		if [ ! -e "$path" ]; then
			get cargo cargo && get rustc rustc
			apt-get install -y --no-install-recommends librust-addr2line+default-dev librust-memmap2-dev
			mkdir -p "$dir/gimli.d/src" "$dir/gimli.d/.cargo" && cp "$dir/testdata/gimli.rs" "$dir/gimli.d/src/main.rs" && cd "$dir/gimli.d"
			printf '[package]\nname = "gimli-peer"\nversion = "0.1.0"\nedition = "2021"\n[profile.release]\nopt-level = 3\n[dependencies]\n' >Cargo.toml
			printf '%s = "0.*"\n' addr2line gimli memmap2 object >>Cargo.toml
			printf '[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "/usr/share/cargo/registry"\n' >.cargo/config.toml
			cargo build --release --offline
			keep target/release/gimli-peer
		fi ;;
	program)
		# A Go program of 100 MB: packages with groups of functions that call and inline one another.
		if [ ! -e "$path" ]; then
			mkdir -p "$dir/program.d" && cd "$dir/program.d"
			printf 'module program\n\ngo 1.24\n' >go.mod
			imports= calls=
			for p in $(seq 100 259); do
				mkdir p$p
				awk -v p=$p '/^\/\/ group/ { group = 1; next }
					group { text = text $0 "\n"; next }
					{ sub("PACKAGE", "p" p); print }
					END {
						for (g = 0; g < 450; g++) {
							t = text; gsub("GROUP", g, t); gsub("NUMBER", p, t); printf "%s", t
							calls = calls "\tn += F" g "(n)\n"
						}
						printf "\nfunc All(n int) int {\n%s\treturn n\n}\n", calls
					}' "$dir/testdata/group.go.txt" >p$p/p.go
				imports="$imports\"program/p$p\"; " calls="${calls}fmt.Println(p$p.All(n)); "
			done
			sed "s,// imports,$imports,; s,// calls,$calls," "$dir/testdata/main.go.txt" >main.go
			go build -o program.elf .
			keep program.elf
		fi ;;
	cxx)
		# A C++ program of 2 GiB: one unit, linked some thousands of times. It cannot run.
		if [ ! -e "$path" ]; then
			get g++ g++ && cd "$dir"
			g++ -g -O2 -std=c++17 -ffunction-sections -c -o unit.o testdata/unit.cc
			link() {
				for i in $(seq "$1"); do echo unit.o; done >units
				ld -z muldefs --unresolved-symbols=ignore-all -e 0 -o "$2" @units
			}
			link 100 some.elf
			link $((2147483648 / ($(stat -c %s some.elf) / 100))) cxx.elf
			keep cxx.elf
		fi ;;
	*)
		echo "there is no $name" && exit 1 ;;
	esac
} >&2
echo "$path"
