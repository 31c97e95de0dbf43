typedef unsigned long ul;
static inline __attribute__((always_inline)) int inner(volatile int *p) { return *p * 3; }
__attribute__((noinline)) int leaf(volatile int *p, int n) { for (int i = 0; i < n; i++) *p += inner(p); return *p; }
static __attribute__((noinline)) int same(volatile int *p) { return leaf(p, 4) - 1; }
int outer(volatile int *p) { return same(p) + inner(p); }
int start(volatile int *p) { switch (*p) { case 0: return outer(p); case 1: return 5; case 2: return leaf(p, 2); case 3: return same(p); } return 9; }
