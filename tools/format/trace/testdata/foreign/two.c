#include <stdio.h>

__attribute__((noinline)) static int same(int n)
{
	void *at;
	__asm__ volatile("lea (%%rip), %0" : "=r"(at));
	printf("pc same %d %p\n", 6, at);
	for (int i = 0; i < n; i++)
		n ^= i * 77 + (n >> 3);
	printf("%s", n == 123456789 ? "rare\n" : "");
	return n;
}

int two(int n)
{
	return same(n) + 1;
}
