# Each target does its own set-up: make, Go and git are all that must be there.

# How long each fuzz target runs in `make test`.
FUZZTIME ?= 3s

.DEFAULT_GOAL := help
.PHONY: help run test test-std test-toolchains soak bench bench-symbol build clean

help:
	@echo 'make run              boot a kernel in QEMU and see it die legibly'
	@echo 'make test             run every check and test'
	@echo "make test-std         run the standard library's own tests; the table goes to qemu/std.txt"
	@echo 'make test-toolchains  run what depends on the Go version with each one, from 1.25 on'
	@echo 'make soak             run goroutines that check all they get, for minutes, on several machines'
	@echo 'make bench            measure; the figures go to bench.txt'
	@echo 'make bench-symbol     measure zf addr against its peers; the figures go to bench-symbol.txt'
	@echo 'make build            build the host command, bin/zf'
	@echo 'make clean            remove what the other targets made'

build:
	go build -o bin/zf ./tools/zf

# The trace is the point here, and zf says so with status 1.
run: build
	@tools/setup.sh run
	@status=0; bin/zf run -timeout 60s -append 'crash=early.nil-write' ./kernel/crashlab || status=$$?; \
	if [ $$status -ne 1 ]; then echo "make run: want a trace (zf status 1), have status $$status" >&2; exit 1; fi; \
	echo 'make run: the kernel died of crash=early.nil-write and said where (zf status 1).'

# Tests boot images that they build from the source, which Go's test cache does
# not see, hence -count=1. They come last, so that their summary ends the output.
test:
	@tools/setup.sh test
	@bad=$$(gofmt -l .); if [ -n "$$bad" ]; then echo "gofmt: not formatted:" >&2; echo "$$bad" >&2; exit 1; fi
	go vet ./...
	@tools/fuzz.sh $(FUZZTIME)
	go test -count=1 -timeout 40m ./...

# It takes a good while: some 250 machines, two at a time.
test-std:
	@tools/setup.sh run
	go run ./qemu/stdtable -o qemu/std.txt

# The go command gets the toolchains from the Go module proxy.
test-toolchains:
	@tools/setup.sh run
	go run ./qemu/toolchains

# SOAK has flags for it, such as SOAK='-duration 10m -seeds 8'.
soak:
	@tools/setup.sh run
	go run ./qemu/soak $(SOAK)

bench:
	@tools/setup.sh run
	go run ./qemu/bench

# It downloads a kernel's debug file, near a gigabyte, once.
bench-symbol:
	go run ./tools/symbol/bench

clean:
	rm -rf bin bench.txt bench-symbol.txt
