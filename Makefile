# Each target does its own set-up: make, Go and git are all that must be there.

# How long each fuzz target runs in `make test`, and how many runs `make test-repeat` does.
FUZZTIME ?= 1s
N ?= 8

.DEFAULT_GOAL := help
.PHONY: help run test test-all test-repeat why chaos test-boot test-std test-modules test-toolchains soak bench bench-symbol bench-receive test-otlp test-sqlite test-calls test-symbol attack deaths build build-zf clean

help:
	@echo 'Use it:'
	@echo '  make run              boot a kernel that crashes in QEMU, and see where'
	@echo '  make build            build the host commands: bin/zf and its two companions'
	@echo 'Test it:'
	@echo '  make test             run the checks, and the tests that are not long, in minutes'
	@echo '  make test-all         run the long tests, those in qemu/testrun/long.txt, too'
	@echo '  make test-repeat N=8  run `make test` N times, half of them on a busy machine'
	@echo '  make test-boot        boot by each loader: QEMU, GRUB (BIOS, UEFI), Linux with u-root'
	@echo "  make test-std         run the standard library's own tests; the table goes to qemu/std.txt"
	@echo '  make test-modules     run the tests of well-known modules on Linux and on the kernel, and compare'
	@echo '  make test-toolchains  run what depends on the Go version with each one, from 1.25 on'
	@echo '  make test-symbol      hold the symbolizer against others on a Linux kernel and its modules'
	@echo '  make test-calls       make every system call on Linux and on the kernel, and compare'
	@echo '  make test-otlp        export to a real OpenTelemetry Collector, which is built first'
	@echo '  make test-sqlite      run SQLite, which is downloaded first, on mapped and locked files'
	@echo '  make soak             run goroutines that check all they get, for minutes, on several machines'
	@echo '  make deaths N=10000   let machines with 1 to 8 CPUs die in random ways, and check all traces'
	@echo '  make chaos RUNS=40    count the runs until a race is seen, with -chaos and without'
	@echo '  make why              ask zf why about 132 programs that die of what another place has done'
	@echo '  make attack           overwrite 8 bytes of the kernel in 5,000 machines, and see how they die'
	@echo 'Measure it:'
	@echo '  make bench            measure; the figures go to bench.txt'
	@echo '  make bench-symbol     measure zf addr against its peers; the figures go to bench-symbol.txt'
	@echo '  make bench-receive    measure zf receive beside netcat; the figures go to bench-receive.txt'
	@echo 'Clean up:'
	@echo '  make clean            remove what the other targets made'

build: build-zf
	CGO_ENABLED=0 go build -o bin/zf-receive ./tools/receive/zf-receive

build-zf:
	CGO_ENABLED=0 go build -o bin/zf-debugger ./tools/zf
	CGO_ENABLED=0 go build -tags lean -o bin/zf ./tools/zf

# The trace is the point here, and zf says so with status 1.
run: build-zf
	@tools/setup.sh run
	@status=0; bin/zf run -smp 1 -timeout 60s -append 'crash=early.nil-write' ./kernel/crashlab || status=$$?; \
	if [ $$status -ne 1 ]; then echo "make run: want a trace (zf status 1), have status $$status" >&2; exit 1; fi; \
	echo 'make run: the kernel died of crash=early.nil-write and said where (zf status 1).'

test:
	@tools/setup.sh test
	@go run ./qemu/testrun -fuzztime=$(FUZZTIME) test

test-all:
	@tools/setup.sh test
	@go run ./qemu/testrun all

# A line each: right, cannot tell or wrong, and the seconds.
why:
	@tools/setup.sh run
	go test ./qemu -run '^TestWhy(More|Missing|Errors|Operands)?$$' -v -timeout 90m -args -why.each

# Each of five races, three ways, in so many runs at most.
RUNS ?= 40
chaos:
	@tools/setup.sh run
	@go run ./qemu/bench -run '^chaos$$' -runs $(RUNS)

# The table goes to test-repeat.txt.
test-repeat:
	@tools/setup.sh test
	@go run ./qemu/testrun -n $(N) repeat

# Linux and u-root are downloaded once.
test-boot:
	@tools/setup.sh boot
	go run ./qemu/loaders

# It takes a good while: some 250 machines, two at a time.
test-std:
	@tools/setup.sh run
	go run ./qemu/stdtable -o qemu/std.txt

# It downloads the modules. MODULES has flags for it, such as MODULES='-only wazero -logs logs'.
test-modules:
	@tools/setup.sh run
	go run ./qemu/modules -o qemu/modules-table.txt $(MODULES)

# The go command gets the toolchains from the Go module proxy.
test-toolchains:
	@tools/setup.sh run
	go run ./qemu/toolchains

# SOAK has flags for it, such as SOAK='-duration 10m -seeds 8'.
soak:
	@tools/setup.sh run
	go run ./qemu/soak $(SOAK)

# ATTACK has flags for it, such as ATTACK='-n 400 -seed 7' or ATTACK='-only 31'.
attack:
	@tools/setup.sh run
	go run ./qemu/attack -o attack.txt $(ATTACK)

# DEATHS has flags for it, such as DEATHS='-seed 7' or DEATHS='-only 31'.
deaths: N = 10000
deaths:
	@tools/setup.sh run
	go run ./qemu/deaths -o deaths.txt -n $(N) $(DEATHS)

# BENCH has flags for it, such as BENCH='-run walk'.
bench:
	@tools/setup.sh run
	go run ./qemu/bench $(BENCH)

# It downloads a kernel's debug file, near a gigabyte, once.
bench-symbol:
	go run ./qemu/benchsymbol

# It runs as root best: then the socket's buffer is as large as it wants.
bench-receive:
	go run ./qemu/benchreceive -o bench-receive.txt

# The collector comes from the Go module proxy; to build it takes minutes, once.
test-otlp:
	go test -count=1 -tags collector -timeout 30m -v -run TestRealCollector ./tools/receive/otlp

test-calls:
	@tools/setup.sh run
	go test -count=1 -run '^(TestCalls|TestDescriptors)$$' ./qemu -args -calls-table calls.txt

test-sqlite:
	@tools/setup.sh test
	go test -count=1 -tags sqlite -run TestSQLite ./qemu

# It downloads a kernel's debug files, near a gigabyte, once, and keeps a few of them. Its gate of
# reports wants clang, rustc, perf, bpftrace and a JDK, and says how to install them.
test-symbol:
	@tools/setup.sh test
	go vet -tags symbolgate ./tools/symbol
	CGO_ENABLED=1 go test -race -count=1 -run 'Concurrent|AtOnce|Example' ./tools/symbol
	go test -tags symbolgate -count=1 -v -timeout 60m -run Gate ./tools/symbol
	go vet -tags symbolgate ./tools/format/trace
	go test -tags symbolgate -count=1 -v -timeout 10m -run GateReports ./tools/format/trace

clean:
	rm -rf bin test-repeat.txt bench.txt bench-symbol.txt bench-receive.txt attack.txt deaths.txt
