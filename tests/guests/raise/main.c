/* Exceptions: threads are stopped wherever they are, as a garbage collector does it, and faults are handled. */
#include <relic/check.h>

static volatile int quit, handled[4], counter[4];
static ScePthread threads[4];
static void *stopped, *resume, *gone, *block;
static ScePthreadMutex mutex;

static int which(void)
{
    for (int i = 0; i < 4; i++)
        if (threads[i] && scePthreadEqual(threads[i], scePthreadSelf()))
            return i;
    return -1;
}

/* Stops its thread until the world goes on. */
static void stop(int signal, void *context)
{
    int index = which();
    CHECK(signal, 30);
    /* The stack pointer of what was interrupted is on this thread's stack. */
    long stack = *(long *)((char *)context + 0xf8);
    long here = (long)&index;
    CHECK(stack - here < 100000 && here - stack < 100000, 1);
    handled[index]++;
    sem_post(&stopped);
    sem_wait(&resume);
    sem_post(&gone);
}

/* One computes, one sleeps in a semaphore, one waits for a mutex, one sleeps. */
static void *compute(void *unused)
{
    (void)unused;
    while (!quit)
        counter[0]++;
    return NULL;
}
static void *wait_for_semaphore(void *unused)
{
    (void)unused;
    sem_wait(&block);
    counter[1]++;
    return NULL;
}
static void *wait_for_mutex(void *unused)
{
    (void)unused;
    CHECK(scePthreadMutexLock(&mutex), 0);
    counter[2]++;
    scePthreadMutexUnlock(&mutex);
    return NULL;
}
static void *sleep_on(void *unused)
{
    (void)unused;
    while (!quit)
        sceKernelUsleep(500);
    return NULL;
}

static void stop_the_world(void)
{
    static void *(*const entries[4])(void *) = {compute, wait_for_semaphore, wait_for_mutex, sleep_on};
    CHECK_SCE(sceKernelInstallExceptionHandler(5, stop), E_INVAL);
    CHECK_SCE(sceKernelInstallExceptionHandler(30, NULL), E_INVAL);
    CHECK_SCE(sceKernelInstallExceptionHandler(30, stop), 0);
    CHECK_SCE(sceKernelInstallExceptionHandler(30, stop), E_AGAIN);
    sem_init(&stopped, 0, 0);
    sem_init(&resume, 0, 0);
    sem_init(&block, 0, 0);
    sem_init(&gone, 0, 0);
    /* Held while the world is stopped. */
    scePthreadMutexLock(&mutex);
    for (int i = 0; i < 4; i++)
        CHECK(scePthreadCreate(&threads[i], NULL, entries[i], NULL, "stopped"), 0);
    for (int round = 1; round <= 50; round++) {
        for (int i = 0; i < 4; i++)
            CHECK_SCE(sceKernelRaiseException(threads[i], 30), 0);
        for (int i = 0; i < 4; i++)
            sem_wait(&stopped);
        /* Nothing moves. */
        int before = counter[0];
        for (volatile int i = 0; i < 10000; i++)
            ;
        CHECK(counter[0], before);
        for (int i = 0; i < 4; i++)
            CHECK(handled[i], round);
        for (int i = 0; i < 4; i++)
            sem_post(&resume);
        for (int i = 0; i < 4; i++)
            sem_wait(&gone);
    }
    /* What they waited for is still theirs. */
    CHECK(counter[1] + counter[2], 0);
    scePthreadMutexUnlock(&mutex);
    sem_post(&block);
    quit = 1;
    for (int i = 0; i < 4; i++)
        CHECK(scePthreadJoin(threads[i], NULL), 0);
    CHECK(counter[1] + counter[2], 2);
    CHECK_SCE(sceKernelRaiseException(threads[0], 30), E_SRCH);
    CHECK_SCE(sceKernelRaiseException(scePthreadSelf(), 11), E_INVAL);
    CHECK_SCE(sceKernelRemoveExceptionHandler(30), 0);
}

/* A fault that is handled: the handler says where to go on. */
static void skip(int signal, void *context)
{
    CHECK(signal, 11);
    CHECK(*(long *)((char *)context + 0xc8), 0x1230);
    /* mov [rax], cl is two bytes long. */
    *(long *)((char *)context + 0xe0) += 2;
    handled[0] = -1;
}

static void faults(void)
{
    CHECK_SCE(sceKernelInstallExceptionHandler(11, skip), 0);
    long address = 0x1230, kept = 77;
    __asm__ volatile("mov %1, %%rbx\n\tmovb %%cl, (%%rax)\n\tmov %%rbx, %1" : "+a"(address), "+r"(kept) : : "rbx", "memory");
    CHECK(handled[0], -1);
    CHECK(kept, 77);
    CHECK_SCE(sceKernelRemoveExceptionHandler(11), 0);
}

int main(void)
{
    stop_the_world();
    faults();
    return relic_checked();
}
