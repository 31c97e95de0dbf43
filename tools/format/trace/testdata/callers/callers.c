// The same as callers_amd64.s, as a compiler makes it: gcc -O2 turns the calls in
// the last place into jumps. Each function adds something, or gcc takes several of
// them for one.
#include <stdio.h>

unsigned long pc, sp, bp, words[64];

#define NOINLINE __attribute__((noinline, noclone))
#define CAPTURE() \
	__asm__ volatile("lea 0(%%rip), %%rax; mov %%rax, %0; mov %%rsp, %1; mov %%rbp, %2" \
		: "=m"(pc), "=m"(sp), "=m"(bp) : : "rax"); \
	__asm__ volatile("mov %%rsp, %%rsi; lea words(%%rip), %%rdi; mov $64, %%ecx; cld; rep movsq" \
		: : : "rsi", "rdi", "rcx", "memory")

NOINLINE long nothing(long a) { __asm__ volatile(""); return a; }
NOINLINE long bar(long a) { CAPTURE(); return nothing(a) + 1; }
NOINLINE long leaf(long a) { CAPTURE(); return a; }
NOINLINE long bar_leaf(long a) { return leaf(a + 1) + 1; }
NOINLINE long tail2(long a) { return bar(a + 2); }
NOINLINE long tail1(long a) { return tail2(a + 3); }
NOINLINE long tail2_leaf(long a) { return leaf(a + 4); }
NOINLINE long tail1_leaf(long a) { return tail2_leaf(a + 5); }
NOINLINE long bar_tails(long a) { return tail1_leaf(a + 6) + 1; }
NOINLINE long tail2_bar_leaf(long a) { return bar_leaf(a + 7); }
NOINLINE long tail1_bar_leaf(long a) { return tail2_bar_leaf(a + 8); }
NOINLINE long tail2_bar_tails(long a) { return bar_tails(a + 9); }
NOINLINE long tail1_bar_tails(long a) { return tail2_bar_tails(a + 10); }

NOINLINE long case1(long a) { return bar(a) + 1; }
NOINLINE long case2(long a) { return tail1(a) + 1; }
NOINLINE long case3(long a) { return bar_leaf(a) + 1; }
NOINLINE long case4(long a) { return bar_tails(a) + 1; }
NOINLINE long case5(long a) { return tail1_bar_leaf(a) + 1; }
NOINLINE long case6(long a) { return tail1_bar_tails(a) + 1; }

long (*volatile through)(long) = tail1;
NOINLINE long indirect(long a) { return through(a) + 1; }

NOINLINE long either_a(long a) { return bar(a + 11); }
NOINLINE long either_b(long a) { return bar(a + 12); }
NOINLINE long either(long a) { if (a & 1) return either_a(a); return either_b(a); }
NOINLINE long ambiguous(long a) { return either(a) + 1; }

NOINLINE long loop_b(long a);
NOINLINE long loop_a(long a) { return loop_b(a + 14); }
NOINLINE long loop_b(long a) { if (a == 0) return loop_a(a + 1); return bar(a + 15); }
NOINLINE long loop(long a) { return loop_a(a) + 1; }

// inlined is a part of outer: its call is outer's.
static inline __attribute__((always_inline)) long inlined(long a) { return bar(a + 13) + 1; }
NOINLINE long outer(long a) { return inlined(a) + 1; }

int main(int argc, char **argv)
{
	long (*volatile f)(long) = 0;
	switch (argv[1][0]) {
	case '1': f = case1; break;
	case '2': f = case2; break;
	case '3': f = case3; break;
	case '4': f = case4; break;
	case '5': f = case5; break;
	case '6': f = case6; break;
	case 'i': f = indirect; break;
	case 'a': f = ambiguous; break;
	case 'o': f = outer; break;
	case 'l': f = loop; break;
	}
	long r = f(argc);
	fprintf(stderr, "%ld\n", r);
	printf("%lx %lx %lx", pc, sp, bp);
	for (int i = 0; i < 64; i++)
		printf(" %lx", words[i]);
	printf("\n");
	return 0;
}
