// Variables of each kind, for the test of data addresses. It is never run.
int table[16] = {1, 2, 3};
static const char names[] = "abcdef";
long zero[4];
static short three[3] = {5};
struct {
	int a;
	char b[9];
} record = {1};
extern int alias[16] __attribute__((alias("table")));
volatile int sink;

void _start(void) { sink = table[sink] + names[sink] + zero[sink] + three[sink] + record.b[sink] + alias[sink]; }
