// A kernel in C for the tests, without frame pointers: gcc -O2
// -fomit-frame-pointer -ffreestanding. It is stopped in leaf, in a debugger.
volatile long sink;
#define NOINLINE __attribute__((noinline, noclone))

NOINLINE void leaf(long n) { sink += n; }

// Assembly without call frame information, that no reader of its instructions can
// follow: it makes the stack pointer a multiple of 64.
void odd(long n);
#ifdef ODD
asm(".text\n.globl odd\n.type odd, @function\nodd:\n"
    "push %rbp\nmov %rsp, %rax\nand $-64, %rsp\npush %rax\nmov $0x7777, %ebp\n"
    "call leaf\npop %rsp\npop %rbp\nret\n.size odd, .-odd\n");
#else
NOINLINE void odd(long n) {
	leaf(n);
	sink++;
}
#endif

NOINLINE long reuse(long n) {
	long r;
	// RBP holds a value of the program's.
	asm volatile("mov %1, %%rbp" : "=r"(r) : "r"(n * 3) : "rbp");
	odd(n);
	sink += n;
	return r + n;
}

NOINLINE long saves(long a, long b, long c, long d) {
	long x = reuse(a), y = reuse(b), z = reuse(c);
	return x * a + y * b + z * c + d;
}

NOINLINE long large(long n) {
	volatile char room[600];
	room[n] = 1;
	return saves(n, room[n], 3, 4) + room[n];
}

NOINLINE long task(long n) { return large(n + 1) * 2; }

void kernel(void) {
	sink = task(sink) + 1;
	for (;;)
		;
}

asm(".text\n.globl _start\n.type _start, @function\n_start:\n.cfi_startproc\n.cfi_undefined rip\n"
    "xor %ebp, %ebp\nand $-16, %rsp\ncall kernel\nhlt\n.cfi_endproc\n.size _start, .-_start\n");
