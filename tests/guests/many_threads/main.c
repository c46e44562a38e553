/* Two hundred threads at a time, a hundred times over: each uses what threads use, and nothing is left of it. The test that
 * runs this looks at the process from outside: arguments are rounds, and the last line its resident pages. */
#include <relic/check.h>

enum { COUNT = 200 };
static unsigned key;
static int destroyed;
static ScePthreadMutex mutex;
static long sum;
/* Threads that all wait for, and that have come: in the first rounds, so that as many are there at once as ever will be. */
static int awaited, arrived;

static void destroy(void *value)
{
    __atomic_fetch_add(&destroyed, 1, __ATOMIC_RELAXED);
    free(value);
}

static void *work(void *number)
{
    scePthreadSetspecific(key, malloc(100));
    scePthreadMutexLock(&mutex);
    sum += (long)number;
    scePthreadMutexUnlock(&mutex);
    __atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < awaited)
        scePthreadYield();
    return number;
}

static long resident(void)
{
    static char text[4096];
    int file = sceKernelOpen("/app0/self/statm", 0, 0);
    if (file < 0)
        return 0;
    sceKernelRead(file, text, sizeof text);
    sceKernelClose(file);
    char *at = text;
    while (*at != ' ')
        at++;
    long pages = 0;
    for (at++; *at >= '0' && *at <= '9'; at++)
        pages = 10 * pages + *at - '0';
    return pages;
}

int main(void)
{
    static ScePthread threads[COUNT];
    CHECK(scePthreadKeyCreate(&key, destroy), 0);
    long after_first = 0;
    for (int round = 0; round < 100; round++) {
        arrived = 0;
        awaited = round < 5 ? COUNT : 0;
        for (long i = 0; i < COUNT; i++)
            CHECK(scePthreadCreate(&threads[i], NULL, work, (void *)i, "one of many"), 0);
        for (long i = 0; i < COUNT; i++) {
            void *result = NULL;
            CHECK(scePthreadJoin(threads[i], &result), 0);
            CHECK(result, i);
        }
        if (round == 4)
            after_first = resident();
    }
    CHECK(sum, 100l * COUNT * (COUNT - 1) / 2);
    CHECK(destroyed, 100 * COUNT);
    CHECK(after_first > 0, 1);
    /* In pages of 4 KiB: a thread that left its stack, or its object, would be seen. */
    CHECK(resident() - after_first < 1000, 1);
    return relic_checked();
}
