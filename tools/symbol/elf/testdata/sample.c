static int twice(int n) { return n + n; }
int add(int a, int b) { return twice(a) + b; }
void _start(void) { volatile int x = add(1, 2); for (;;) x++; }
