/* Every object that threads synchronise by: what its calls do, and how they fail. */
#include <relic/check.h>

static ScePthread start(void *(*entry)(void *), void *argument)
{
    ScePthread thread;
    CHECK(scePthreadCreate(&thread, NULL, entry, argument, "helper"), 0);
    return thread;
}

static ScePthread start_at(int priority, void *(*entry)(void *), void *argument)
{
    ScePthread thread;
    ScePthreadAttr attributes;
    CHECK(scePthreadAttrInit(&attributes), 0);
    CHECK(scePthreadAttrSetschedparam(&attributes, &priority), 0);
    CHECK(scePthreadCreate(&thread, &attributes, entry, argument, "helper"), 0);
    CHECK(scePthreadAttrDestroy(&attributes), 0);
    return thread;
}

static long join(ScePthread thread)
{
    void *result = NULL;
    CHECK(scePthreadJoin(thread, &result), 0);
    return (long)result;
}

static struct timespec in_microseconds(int clock, long microseconds)
{
    struct timespec time;
    CHECK(sceKernelClockGettime(clock, &time), 0);
    time.tv_nsec += microseconds * 1000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

/* Mutexes. */

static ScePthreadMutex mutex;

static void *try_from_outside(void *unused)
{
    (void)unused;
    CHECK_SCE(scePthreadMutexTrylock(&mutex), E_BUSY);
    CHECK(pthread_mutex_trylock(&mutex), E_BUSY);
    CHECK_SCE(scePthreadMutexTimedlock(&mutex, 1000), E_TIMEDOUT);
    struct timespec soon = in_microseconds(0, 1000), never = {0, 2000000000};
    CHECK(pthread_mutex_timedlock(&mutex, &soon), E_TIMEDOUT);
    CHECK(pthread_mutex_timedlock(&mutex, &never), E_INVAL);
    CHECK_SCE(scePthreadMutexUnlock(&mutex), E_PERM);
    CHECK(pthread_mutex_isowned_np(&mutex), 0);
    CHECK_SCE(scePthreadMutexDestroy(&mutex), E_BUSY);
    return NULL;
}

static void mutexes(void)
{
    static const struct {
        int type, again, depth;
    } cases[] = {{1, E_DEADLK, 1}, {2, 0, 2}, {4, E_DEADLK, 1}};
    ScePthreadMutexattr attributes;
    CHECK_SCE(scePthreadMutexattrInit(&attributes), 0);
    int value = 0;
    CHECK_SCE(scePthreadMutexattrGettype(&attributes, &value), 0);
    CHECK(value, 1);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_SCE(scePthreadMutexattrSettype(&attributes, cases[i].type), 0);
        CHECK_SCE(scePthreadMutexInit(&mutex, &attributes, "mutex"), 0);
        CHECK_SCE(scePthreadMutexLock(&mutex), 0);
        CHECK_SCE(scePthreadMutexLock(&mutex), cases[i].again);
        CHECK(pthread_mutex_isowned_np(&mutex), 1);
        join(start(try_from_outside, NULL));
        for (int depth = 0; depth < cases[i].depth; depth++)
            CHECK_SCE(scePthreadMutexUnlock(&mutex), 0);
        CHECK_SCE(scePthreadMutexUnlock(&mutex), E_PERM);
        CHECK_SCE(scePthreadMutexDestroy(&mutex), 0);
        CHECK_SCE(scePthreadMutexLock(&mutex), E_INVAL);
        CHECK_SCE(scePthreadMutexDestroy(&mutex), E_INVAL);
    }
    CHECK_SCE(scePthreadMutexattrSettype(&attributes, 0), E_INVAL);
    CHECK_SCE(scePthreadMutexattrSettype(&attributes, 5), E_INVAL);
    CHECK_SCE(scePthreadMutexattrSetprotocol(&attributes, 3), E_INVAL);
    CHECK_SCE(scePthreadMutexattrSetprioceiling(&attributes, 300), E_INVAL);
    CHECK_SCE(scePthreadMutexattrSetprotocol(&attributes, 2), 0);
    CHECK_SCE(scePthreadMutexattrSetprioceiling(&attributes, 300), 0);
    CHECK_SCE(scePthreadMutexattrGetprioceiling(&attributes, &value), 0);
    CHECK(value, 300);
    CHECK_SCE(scePthreadMutexattrSetpshared(&attributes, 1), E_INVAL);
    CHECK_SCE(scePthreadMutexattrDestroy(&attributes), 0);
    CHECK_SCE(scePthreadMutexattrDestroy(&attributes), E_INVAL);
    CHECK_SCE(scePthreadMutexLock(NULL), E_INVAL);
    /* Initialisers: 0 is a default mutex, 1 an adaptive one. */
    ScePthreadMutex plain = NULL, adaptive = (ScePthreadMutex)1;
    CHECK(pthread_mutex_lock(&plain), 0);
    CHECK(pthread_mutex_lock(&plain), E_DEADLK);
    CHECK(pthread_mutex_unlock(&plain), 0);
    CHECK(pthread_mutex_lock(&adaptive), 0);
    CHECK(pthread_mutex_unlock(&adaptive), 0);
    CHECK(pthread_mutex_unlock(&adaptive), E_PERM);
}

/* Conditions: the order of waking, a certain thread, time limits. */

static ScePthreadCond condition;
static int waiting, order[4], woken;

static void *wait_for_condition(void *number)
{
    scePthreadMutexLock(&mutex);
    waiting++;
    CHECK_SCE(scePthreadCondWait(&condition, &mutex), 0);
    CHECK(pthread_mutex_isowned_np(&mutex), 1);
    order[woken++] = (int)(long)number;
    scePthreadMutexUnlock(&mutex);
    return NULL;
}

/* Whoever counted itself in has let go of the mutex in its wait, once this has it. */
static void until_waiting(int count)
{
    for (;;) {
        scePthreadMutexLock(&mutex);
        int now = waiting;
        scePthreadMutexUnlock(&mutex);
        if (now >= count)
            return;
        scePthreadYield();
    }
}

static void until_woken(int count)
{
    for (;;) {
        scePthreadMutexLock(&mutex);
        int now = woken;
        scePthreadMutexUnlock(&mutex);
        if (now >= count)
            return;
        scePthreadYield();
    }
}

static void conditions(void)
{
    ScePthread threads[4];
    mutex = NULL;
    CHECK_SCE(scePthreadCondInit(&condition, NULL, "condition"), 0);
    CHECK_SCE(scePthreadCondWait(&condition, &mutex), E_PERM);
    CHECK_SCE(scePthreadCondSignal(&condition), 0);
    CHECK_SCE(scePthreadCondBroadcast(&condition), 0);
    for (long i = 0; i < 4; i++) {
        threads[i] = start(wait_for_condition, (void *)i);
        until_waiting((int)i + 1);
    }
    CHECK_SCE(scePthreadCondDestroy(&condition), E_BUSY);
    CHECK_SCE(scePthreadCondSignal(&condition), 0);
    until_woken(1);
    CHECK_SCE(scePthreadCondSignalto(&condition, threads[2]), 0);
    until_woken(2);
    CHECK_SCE(scePthreadCondSignalto(&condition, threads[2]), 0);
    CHECK(order[0], 0);
    CHECK(order[1], 2);
    CHECK_SCE(scePthreadCondBroadcast(&condition), 0);
    for (int i = 0; i < 4; i++)
        join(threads[i]);
    CHECK(woken, 4);
    scePthreadMutexLock(&mutex);
    uint64_t before = sceKernelGetProcessTime();
    CHECK_SCE(scePthreadCondTimedwait(&condition, &mutex, 3000), E_TIMEDOUT);
    CHECK(sceKernelGetProcessTime() - before >= 3000, 1);
    struct timespec past = {1, 0}, wrong = {1, -1}, soon = in_microseconds(0, 2000);
    CHECK(pthread_cond_timedwait(&condition, &mutex, &past), E_TIMEDOUT);
    CHECK(pthread_cond_timedwait(&condition, &mutex, &soon), E_TIMEDOUT);
    CHECK(pthread_cond_timedwait(&condition, &mutex, &wrong), E_INVAL);
    CHECK_SCE(scePthreadCondDestroy(&condition), 0);
    CHECK_SCE(scePthreadCondSignal(&condition), E_INVAL);
    /* On the monotonic clock. */
    ScePthreadCondattr attributes;
    CHECK_SCE(scePthreadCondattrInit(&attributes), 0);
    CHECK_SCE(scePthreadCondattrSetclock(&attributes, 77), E_INVAL);
    CHECK_SCE(scePthreadCondattrSetclock(&attributes, 4), 0);
    CHECK_SCE(scePthreadCondInit(&condition, &attributes, NULL), 0);
    CHECK_SCE(scePthreadCondattrDestroy(&attributes), 0);
    soon = in_microseconds(4, 2000);
    before = sceKernelGetProcessTime();
    CHECK(pthread_cond_timedwait(&condition, &mutex, &soon), E_TIMEDOUT);
    CHECK(sceKernelGetProcessTime() - before < 10000000, 1);
    CHECK_SCE(scePthreadCondDestroy(&condition), 0);
    scePthreadMutexUnlock(&mutex);
}

/* Read-write locks. */

static void *lock_from_outside(void *lock)
{
    CHECK_SCE(scePthreadRwlockTrywrlock(lock), E_BUSY);
    CHECK_SCE(scePthreadRwlockTimedwrlock(lock, 1000), E_TIMEDOUT);
    int busy = scePthreadRwlockTryrdlock(lock) != 0;
    if (busy)
        CHECK_SCE(scePthreadRwlockTimedrdlock(lock, 1000), E_TIMEDOUT);
    else
        CHECK_SCE(scePthreadRwlockUnlock(lock), 0);
    return (void *)(long)busy;
}

static void read_write_locks(void)
{
    void *lock;
    CHECK_SCE(scePthreadRwlockInit(&lock, NULL, "lock"), 0);
    CHECK_SCE(scePthreadRwlockRdlock(&lock), 0);
    CHECK_SCE(scePthreadRwlockRdlock(&lock), 0);
    CHECK(join(start(lock_from_outside, &lock)), 0);
    CHECK_SCE(scePthreadRwlockDestroy(&lock), E_BUSY);
    CHECK_SCE(scePthreadRwlockUnlock(&lock), 0);
    CHECK_SCE(scePthreadRwlockUnlock(&lock), 0);
    CHECK_SCE(scePthreadRwlockUnlock(&lock), E_PERM);
    CHECK_SCE(scePthreadRwlockWrlock(&lock), 0);
    CHECK_SCE(scePthreadRwlockWrlock(&lock), E_DEADLK);
    CHECK_SCE(scePthreadRwlockRdlock(&lock), E_DEADLK);
    CHECK(join(start(lock_from_outside, &lock)), 1);
    CHECK_SCE(scePthreadRwlockUnlock(&lock), 0);
    CHECK_SCE(scePthreadRwlockDestroy(&lock), 0);
    CHECK_SCE(scePthreadRwlockRdlock(&lock), E_INVAL);
}

/* Semaphores, POSIX's and the kernel's. */

static void posix_semaphores(void)
{
    void *semaphore;
    int value = -1;
    CHECK_ERRNO(sem_init(&semaphore, 0, 0x80000000u), E_INVAL);
    CHECK(sem_init(&semaphore, 0, 2), 0);
    CHECK(sem_wait(&semaphore), 0);
    CHECK(sem_trywait(&semaphore), 0);
    CHECK_ERRNO(sem_trywait(&semaphore), E_AGAIN);
    struct timespec soon = in_microseconds(0, 2000), wrong = {0, -1};
    CHECK_ERRNO(sem_timedwait(&semaphore, &soon), E_TIMEDOUT);
    CHECK_ERRNO(sem_timedwait(&semaphore, &wrong), E_INVAL);
    CHECK(sem_post(&semaphore), 0);
    CHECK(sem_getvalue(&semaphore, &value), 0);
    CHECK(value, 1);
    CHECK(sem_timedwait(&semaphore, &wrong), 0);
    CHECK(sem_destroy(&semaphore), 0);
    CHECK_ERRNO(sem_post(&semaphore), E_INVAL);
    CHECK(sem_init(&semaphore, 0, 0x7fffffff), 0);
    CHECK_ERRNO(sem_post(&semaphore), E_OVERFLOW);
}

struct wanting {
    uint64_t semaphore;
    int need, number;
};
static volatile int served[3];
static volatile int serves, entered;

static void *take(void *argument)
{
    struct wanting *wanting = argument;
    __atomic_fetch_add(&entered, 1, __ATOMIC_SEQ_CST);
    long result = sceKernelWaitSema(wanting->semaphore, wanting->need, NULL);
    if (result == 0)
        served[__atomic_fetch_add(&serves, 1, __ATOMIC_SEQ_CST)] = wanting->number;
    return (void *)result;
}

/* Nothing tells who waits for a semaphore: a thread that is about to is given time for the last step. */
static void until_entered(int count)
{
    while (__atomic_load_n(&entered, __ATOMIC_SEQ_CST) < count)
        scePthreadYield();
    sceKernelUsleep(40000);
}

static void until_served(int count)
{
    while (__atomic_load_n(&serves, __ATOMIC_SEQ_CST) < count)
        scePthreadYield();
}

static void kernel_semaphores(void)
{
    uint64_t semaphore;
    unsigned timeout;
    int waiters = -1;
    CHECK_SCE(sceKernelCreateSema(&semaphore, "a name that is far too long for one", 1, 0, 1, NULL), E_NAMETOOLONG);
    CHECK_SCE(sceKernelCreateSema(&semaphore, NULL, 1, 0, 1, NULL), E_INVAL);
    CHECK_SCE(sceKernelCreateSema(&semaphore, "s", 3, 0, 1, NULL), E_INVAL);
    CHECK_SCE(sceKernelCreateSema(&semaphore, "s", 1, 2, 1, NULL), E_INVAL);
    CHECK_SCE(sceKernelCreateSema(&semaphore, "s", 1, -1, 1, NULL), E_INVAL);
    CHECK_SCE(sceKernelCreateSema(&semaphore, "s", 1, 2, 5, NULL), 0);
    CHECK_SCE(sceKernelWaitSema(semaphore, 2, NULL), 0);
    CHECK_SCE(sceKernelPollSema(semaphore, 1), E_BUSY);
    CHECK_SCE(sceKernelPollSema(semaphore, 0), E_INVAL);
    CHECK_SCE(sceKernelWaitSema(semaphore, 6, NULL), E_INVAL);
    timeout = 2000;
    uint64_t before = sceKernelGetProcessTime();
    CHECK_SCE(sceKernelWaitSema(semaphore, 1, &timeout), E_TIMEDOUT);
    CHECK(sceKernelGetProcessTime() - before >= 2000, 1);
    CHECK(timeout, 0);
    CHECK_SCE(sceKernelSignalSema(semaphore, 6), E_INVAL);
    CHECK_SCE(sceKernelSignalSema(semaphore, 0), E_INVAL);
    CHECK_SCE(sceKernelSignalSema(semaphore, 5), 0);
    CHECK_SCE(sceKernelSignalSema(semaphore, 1), E_INVAL);
    timeout = 50000000;
    CHECK_SCE(sceKernelWaitSema(semaphore, 5, &timeout), 0);
    CHECK(timeout <= 50000000 && timeout > 1000000, 1);
    CHECK_SCE(sceKernelDeleteSema(semaphore), 0);
    CHECK_SCE(sceKernelDeleteSema(semaphore), E_SRCH);
    CHECK_SCE(sceKernelSignalSema(semaphore, 1), E_SRCH);
    uint64_t next;
    CHECK_SCE(sceKernelCreateSema(&next, "s", 1, 1, 1, NULL), 0);
    CHECK(next != semaphore, 1);
    CHECK_SCE(sceKernelPollSema(semaphore, 1), E_SRCH);
    CHECK_SCE(sceKernelDeleteSema(next), 0);

    /* Order: first come first served, then by priority. */
    static const int priorities[3] = {700, 500, 600};
    static const int by_priority[3] = {1, 2, 0};
    for (int attribute = 1; attribute <= 2; attribute++) {
        CHECK_SCE(sceKernelCreateSema(&semaphore, "s", (unsigned)attribute, 0, 5, NULL), 0);
        ScePthread threads[3];
        static struct wanting wanting[3];
        serves = entered = 0;
        for (int i = 0; i < 3; i++) {
            wanting[i] = (struct wanting){semaphore, 1, i};
            threads[i] = start_at(priorities[i], take, &wanting[i]);
            until_entered(i + 1);
        }
        for (int i = 0; i < 3; i++) {
            CHECK_SCE(sceKernelSignalSema(semaphore, 1), 0);
            until_served(i + 1);
            CHECK(served[i], attribute == 1 ? i : by_priority[i]);
        }
        for (int i = 0; i < 3; i++)
            CHECK(join(threads[i]), 0);
        CHECK_SCE(sceKernelDeleteSema(semaphore), 0);
    }
    /* One that wants much stands in the way of one that wants little. */
    CHECK_SCE(sceKernelCreateSema(&semaphore, "s", 1, 0, 5, NULL), 0);
    static struct wanting much, little;
    much = (struct wanting){semaphore, 5, 5};
    little = (struct wanting){semaphore, 1, 1};
    serves = entered = 0;
    ScePthread first = start(take, &much);
    until_entered(1);
    ScePthread second = start(take, &little);
    until_entered(2);
    CHECK_SCE(sceKernelSignalSema(semaphore, 2), 0);
    CHECK_SCE(sceKernelPollSema(semaphore, 1), E_BUSY);
    CHECK_SCE(sceKernelSignalSema(semaphore, 3), 0);
    until_served(1);
    CHECK(served[0], 5);
    CHECK_SCE(sceKernelSignalSema(semaphore, 1), 0);
    CHECK(join(first), 0);
    CHECK(join(second), 0);
    /* Cancelling and deleting send waiters away. */
    entered = 0;
    first = start(take, &little);
    second = start(take, &little);
    until_entered(2);
    CHECK_SCE(sceKernelCancelSema(semaphore, 6, &waiters), E_INVAL);
    CHECK_SCE(sceKernelCancelSema(semaphore, 3, &waiters), 0);
    CHECK(waiters, 2);
    CHECK_SCE(join(first), E_CANCELED);
    CHECK_SCE(join(second), E_CANCELED);
    CHECK_SCE(sceKernelPollSema(semaphore, 3), 0);
    entered = 0;
    first = start(take, &little);
    until_entered(1);
    CHECK_SCE(sceKernelDeleteSema(semaphore), 0);
    CHECK_SCE(join(first), E_ACCES);
}

/* Event flags. */

struct flag_wait {
    uint64_t flag, pattern, bits;
    unsigned mode;
};

static void *wait_for_flag(void *argument)
{
    struct flag_wait *wait = argument;
    return (void *)(long)sceKernelWaitEventFlag(wait->flag, wait->pattern, wait->mode, &wait->bits, NULL);
}

static void event_flags(void)
{
    uint64_t flag, bits = 0;
    unsigned timeout = 2000;
    int waiters = -1;
    CHECK_SCE(sceKernelCreateEventFlag(&flag, NULL, 0x21, 0, NULL), E_INVAL);
    CHECK_SCE(sceKernelCreateEventFlag(&flag, "f", 0x31, 0, NULL), E_INVAL);
    CHECK_SCE(sceKernelCreateEventFlag(&flag, "f", 0x11, 5, NULL), 0);
    CHECK_SCE(sceKernelPollEventFlag(flag, 5, 1, &bits), 0);
    CHECK(bits, 5);
    CHECK_SCE(sceKernelPollEventFlag(flag, 7, 1, &bits), E_BUSY);
    CHECK_SCE(sceKernelPollEventFlag(flag, 7, 2, &bits), 0);
    CHECK_SCE(sceKernelPollEventFlag(flag, 7, 3, &bits), E_INVAL);
    CHECK_SCE(sceKernelPollEventFlag(flag, 7, 0x31, &bits), E_INVAL);
    CHECK_SCE(sceKernelPollEventFlag(flag, 0, 1, &bits), E_INVAL);
    CHECK_SCE(sceKernelPollEventFlag(flag, 6, 0x22, &bits), 0);
    CHECK_SCE(sceKernelPollEventFlag(flag, 1, 1, &bits), 0);
    CHECK(bits, 1);
    CHECK_SCE(sceKernelPollEventFlag(flag, 1, 0x11, &bits), 0);
    CHECK_SCE(sceKernelWaitEventFlag(flag, 1, 1, &bits, &timeout), E_TIMEDOUT);
    CHECK(bits, 0);
    CHECK(timeout, 0);
    CHECK_SCE(sceKernelSetEventFlag(flag, 8), 0);
    timeout = 50000000;
    CHECK_SCE(sceKernelWaitEventFlag(flag, 8, 1, &bits, &timeout), 0);
    CHECK(timeout > 1000000 && timeout <= 50000000, 1);
    CHECK_SCE(sceKernelClearEventFlag(flag, 0), 0);
    /* One waiter alone; it gets bits that are cleared before it runs. */
    static struct flag_wait wait;
    wait = (struct flag_wait){flag, 2, 0, 1};
    ScePthread thread = start(wait_for_flag, &wait);
    do
        timeout = 0;
    while (sceKernelWaitEventFlag(flag, 4, 1, NULL, &timeout) != (int)0x80020001);
    CHECK_SCE(sceKernelSetEventFlag(flag, 2), 0);
    CHECK_SCE(sceKernelClearEventFlag(flag, 0), 0);
    CHECK_SCE(join(thread), 0);
    CHECK(wait.bits, 2);
    thread = start(wait_for_flag, &wait);
    do
        timeout = 0;
    while (sceKernelWaitEventFlag(flag, 4, 1, NULL, &timeout) != (int)0x80020001);
    CHECK_SCE(sceKernelCancelEventFlag(flag, 0x40, &waiters), 0);
    CHECK(waiters, 1);
    CHECK_SCE(join(thread), E_CANCELED);
    CHECK(wait.bits, 0x40);
    thread = start(wait_for_flag, &wait);
    do
        timeout = 0;
    while (sceKernelWaitEventFlag(flag, 4, 1, NULL, &timeout) != (int)0x80020001);
    CHECK_SCE(sceKernelDeleteEventFlag(flag), 0);
    CHECK_SCE(join(thread), E_ACCES);
    CHECK_SCE(sceKernelSetEventFlag(flag, 1), E_SRCH);
    CHECK_SCE(sceKernelDeleteEventFlag(flag), E_SRCH);
}

/* Barriers, spin locks and words. */

static void *meet(void *barrier) { return (void *)(long)pthread_barrier_wait(barrier); }

static volatile unsigned word;

static void *wait_on_word(void *unused)
{
    (void)unused;
    return (void *)(long)sceKernelSyncOnAddressWait(&word, 1, NULL, "word");
}

static void small_objects(void)
{
    void *barrier, *spin;
    CHECK(pthread_barrier_init(&barrier, NULL, 0), E_INVAL);
    CHECK(pthread_barrier_init(&barrier, NULL, 3), 0);
    for (int round = 0; round < 20; round++) {
        ScePthread one = start(meet, &barrier), other = start(meet, &barrier);
        long sum = pthread_barrier_wait(&barrier);
        sum += join(one) + join(other);
        CHECK(sum, -1);
    }
    CHECK(pthread_barrier_destroy(&barrier), 0);
    CHECK(pthread_barrier_wait(&barrier), E_INVAL);

    CHECK(pthread_spin_init(&spin, 0), 0);
    CHECK(pthread_spin_lock(&spin), 0);
    CHECK(pthread_spin_lock(&spin), E_DEADLK);
    CHECK(pthread_spin_trylock(&spin), E_BUSY);
    CHECK(pthread_spin_destroy(&spin), E_BUSY);
    CHECK(pthread_spin_unlock(&spin), 0);
    CHECK(pthread_spin_unlock(&spin), E_PERM);
    CHECK(pthread_spin_destroy(&spin), 0);

    unsigned none = 0, some = 1000;
    word = 1;
    CHECK_SCE(sceKernelSyncOnAddressWait(&word, 2, NULL, NULL), 0);
    CHECK_SCE(sceKernelSyncOnAddressWait(&word, 1, &none, NULL), E_TIMEDOUT);
    CHECK_SCE(sceKernelSyncOnAddressWait(&word, 1, &some, NULL), E_TIMEDOUT);
    CHECK_SCE(sceKernelSyncOnAddressWait(NULL, 1, NULL, NULL), E_INVAL);
    CHECK_SCE(sceKernelSyncOnAddressWait((volatile unsigned *)((char *)&word + 1), 1, NULL, NULL), E_INVAL);
    CHECK_SCE(sceKernelSyncOnAddressWake(&word, -1), E_INVAL);
    CHECK_SCE(sceKernelSyncOnAddressWake(&word, 1), 0);
    /* Woken, or it comes too late and finds another word. */
    ScePthread thread = start(wait_on_word, NULL);
    word = 2;
    CHECK_SCE(sceKernelSyncOnAddressWake(&word, 1), 0);
    CHECK_SCE(join(thread), 0);
}

/* Event queues. */

struct queue_wait {
    uint64_t queue;
    struct kernel_event event;
};

static void *wait_for_event(void *argument)
{
    struct queue_wait *wait = argument;
    int count = -1;
    long result = sceKernelWaitEqueue(wait->queue, &wait->event, 1, &count, NULL);
    CHECK(count > 0, result == 0);
    return (void *)result;
}

static void event_queues(void)
{
    uint64_t queue;
    struct kernel_event events[4];
    int count = -1;
    unsigned none = 0, some = 2000;
    CHECK_SCE(sceKernelCreateEqueue(NULL, "q"), E_INVAL);
    CHECK_SCE(sceKernelCreateEqueue(&queue, "a name that is far too long for one"), E_NAMETOOLONG);
    CHECK_SCE(sceKernelCreateEqueue(&queue, "q"), 0);
    CHECK_SCE(sceKernelWaitEqueue(queue, events, 4, &count, &none), E_TIMEDOUT);
    CHECK(count, 0);
    CHECK_SCE(sceKernelWaitEqueue(queue, events, 4, &count, &some), E_TIMEDOUT);
    CHECK_SCE(sceKernelWaitEqueue(queue, events, 0, &count, &none), E_INVAL);
    CHECK_SCE(sceKernelWaitEqueue(queue, NULL, 1, &count, &none), E_FAULT);
    CHECK_SCE(sceKernelTriggerUserEvent(queue, 1, NULL), E_NOENT);
    CHECK_SCE(sceKernelDeleteUserEvent(queue, 1), E_NOENT);
    CHECK_SCE(sceKernelAddUserEvent(queue, 1), 0);
    CHECK_SCE(sceKernelAddUserEventEdge(queue, 2), 0);
    CHECK_SCE(sceKernelTriggerUserEvent(queue, 2, (void *)22), 0);
    CHECK_SCE(sceKernelTriggerUserEvent(queue, 1, (void *)11), 0);
    CHECK_SCE(sceKernelTriggerUserEvent(queue, 2, (void *)23), 0);
    CHECK_SCE(sceKernelWaitEqueue(queue, events, 1, &count, NULL), 0);
    CHECK(count, 1);
    CHECK(events[0].ident, 2);
    CHECK(events[0].filter, -11);
    CHECK(events[0].user_data, 23);
    for (int i = 0; i < 2; i++) {
        CHECK_SCE(sceKernelWaitEqueue(queue, events, 4, &count, NULL), 0);
        CHECK(count, 1);
        CHECK(events[0].ident, 1);
    }
    CHECK_SCE(sceKernelDeleteUserEvent(queue, 1), 0);
    static struct queue_wait wait;
    wait.queue = queue;
    for (long i = 0; i < 50; i++) {
        ScePthread thread = start(wait_for_event, &wait);
        CHECK_SCE(sceKernelTriggerUserEvent(queue, 2, (void *)i), 0);
        CHECK_SCE(join(thread), 0);
        CHECK(wait.event.user_data, i);
    }
    ScePthread thread = start(wait_for_event, &wait);
    CHECK_SCE(sceKernelDeleteEqueue(queue), 0);
    CHECK_SCE(join(thread), E_BADF);
    CHECK_SCE(sceKernelWaitEqueue(queue, events, 4, &count, &none), E_BADF);
    CHECK_SCE(sceKernelDeleteEqueue(queue), E_BADF);
}

int main(void)
{
    mutexes();
    conditions();
    read_write_locks();
    posix_semaphores();
    kernel_semaphores();
    event_flags();
    small_objects();
    event_queues();
    return relic_checked();
}
