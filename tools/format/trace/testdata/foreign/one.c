// A program that walks through its functions and prints, for each place on the way,
// what it is by the compiler's own word: the kind, the function, the line and the
// address.
#include <stdio.h>
#include <stdlib.h>

#define HERE(kind, name) do { \
	void *at; \
	__asm__ volatile("lea (%%rip), %0" : "=r"(at)); \
	printf("%s %s %d %p\n", kind, name, __LINE__, at); \
} while (0)
#define FROM(name, line) printf("ra %s %d %p\n", name, line, __builtin_return_address(0))

int two(int n);

__attribute__((noinline)) static int leaf(int n)
{
	HERE("pc", "leaf");
	FROM("hold", 29);
	return n + 1;
}

static int line_of_hold;

// hold is inlined into middle.
__attribute__((always_inline)) static inline int hold(int n)
{
	line_of_hold = n;
	return leaf(n) * 3; // line 29
}

__attribute__((noinline)) int middle(int n)
{
	FROM("main", 70);
	return hold(n) - 7; // line 35
}

// same is a function here and another in two.c.
__attribute__((noinline)) static int same(int n)
{
	HERE("pc", "same");
	return n ^ 5;
}

__attribute__((noinline, noreturn)) static void quit(void)
{
	FROM("ends", 56);
	fflush(stdout);
	exit(0);
}

// ends is over with the call: the address it returns to is another function's.
__attribute__((noinline, noreturn)) void ends(void)
{
	line_of_hold++;
	quit(); // line 56
}

__attribute__((noinline)) int after(int n)
{
	return n * 11;
}

int main(int argc, char **argv)
{
	(void)argv;
	printf("fn middle 0 %p\n", (void *)middle);
	printf("fn main 0 %p\n", (void *)main);
	int n =
		middle(argc); // line 70
	n += same(n) + two(n) + after(n);
	line_of_hold = n;
	ends();
}
