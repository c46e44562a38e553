#include <relic/guest.h>

static _Thread_local int calls = 1000;
static int started;

int plug_add(int one, int other) { return one + other + started + ++calls; }

/* The program passes a size and a value. */
int module_start(size_t size, const void *arguments)
{
    if (size == 16)
        started = ((const int *)arguments)[2];
    first_counter = 1;
    printf("plug starts with %zu bytes, value %d\n", size, started);
    return 77;
}
