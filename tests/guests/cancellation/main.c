/* Cancellation: when a request is acted on, and what runs then. No sleep synchronises anything: gates are atomics, and a wait
 * for a condition has begun when its mutex can be had. */
#include <relic/check.h>

static int gate, reached, trail[16], steps;
static ScePthreadMutex mutex;
static ScePthreadCond condition;
static void *semaphore;
static unsigned key;

static void step(int number) { trail[__atomic_fetch_add(&steps, 1, __ATOMIC_SEQ_CST) % 16] = number; }
static void open_gate(int *which) { __atomic_store_n(which, 1, __ATOMIC_SEQ_CST); }

static void pass(int *which)
{
    while (!__atomic_load_n(which, __ATOMIC_SEQ_CST))
        scePthreadYield();
}

static void begin(void)
{
    gate = reached = steps = 0;
    for (int i = 0; i < 16; i++)
        trail[i] = 0;
}

static ScePthread start(void *(*entry)(void *))
{
    ScePthread thread;
    CHECK(scePthreadCreate(&thread, NULL, entry, NULL, "cancelled"), 0);
    return thread;
}

static long join(ScePthread thread)
{
    void *result = (void *)77;
    CHECK(scePthreadJoin(thread, &result), 0);
    return (long)result;
}

static void note(void *number)
{
    step((int)(long)number);
    /* Points inside clean-up do nothing. */
    scePthreadTestcancel();
    sceKernelUsleep(0);
}

static void destroy(void *number) { step((int)(long)number); }

static void *at_a_point(void *unused)
{
    (void)unused;
    scePthreadSetspecific(key, (void *)30);
    __pthread_cleanup_push_imp(note, (void *)10, NULL);
    __pthread_cleanup_push_imp(note, (void *)20, NULL);
    __pthread_cleanup_push_imp(note, (void *)25, NULL);
    __pthread_cleanup_pop_imp(0);
    open_gate(&reached);
    pass(&gate);
    step(1);
    scePthreadTestcancel();
    step(2);
    return NULL;
}

static void requests_wait_for_a_point(void)
{
    begin();
    ScePthread thread = start(at_a_point);
    pass(&reached);
    CHECK_SCE(scePthreadCancel(thread), 0);
    CHECK_SCE(scePthreadCancel(thread), 0);
    open_gate(&gate);
    CHECK(join(thread), 1);
    CHECK(steps, 4);
    CHECK(trail[0], 1);
    CHECK(trail[1], 20);
    CHECK(trail[2], 10);
    CHECK(trail[3], 30);
    CHECK_SCE(scePthreadCancel(thread), E_SRCH);
}

static void *disabled_first(void *unused)
{
    (void)unused;
    int old = -1;
    CHECK_SCE(scePthreadSetcancelstate(1, &old), 0);
    CHECK(old, 0);
    open_gate(&reached);
    pass(&gate);
    scePthreadTestcancel();
    scePthreadMutexLock(&mutex);
    CHECK_SCE(scePthreadCondTimedwait(&condition, &mutex, 1000), E_TIMEDOUT);
    scePthreadMutexUnlock(&mutex);
    step(1);
    CHECK_SCE(scePthreadSetcancelstate(2, &old), E_INVAL);
    CHECK_SCE(scePthreadSetcancelstate(0, &old), 0);
    CHECK(old, 1);
    /* Enabling is no point itself. */
    step(2);
    scePthreadTestcancel();
    step(3);
    return NULL;
}

static void disabled_requests_stay_pending(void)
{
    begin();
    ScePthread thread = start(disabled_first);
    pass(&reached);
    CHECK_SCE(scePthreadCancel(thread), 0);
    open_gate(&gate);
    CHECK(join(thread), 1);
    CHECK(steps, 2);
}

static void unlock(void *unused)
{
    (void)unused;
    /* The condition has given the mutex back. */
    step(pthread_mutex_isowned_np(&mutex) ? 5 : 6);
    scePthreadMutexUnlock(&mutex);
}

static int timed;

static void *in_a_condition(void *unused)
{
    (void)unused;
    scePthreadMutexLock(&mutex);
    __pthread_cleanup_push_imp(unlock, NULL, NULL);
    open_gate(&reached);
    for (;;) {
        if (timed)
            scePthreadCondTimedwait(&condition, &mutex, 60000000);
        else
            scePthreadCondWait(&condition, &mutex);
        step(9);
    }
}

static void conditions_give_their_mutex_back(void)
{
    for (timed = 0; timed < 2; timed++) {
        begin();
        ScePthread thread = start(in_a_condition);
        pass(&reached);
        /* Once this has the mutex, the other waits. */
        scePthreadMutexLock(&mutex);
        CHECK_SCE(scePthreadCancel(thread), 0);
        CHECK(steps, 0);
        scePthreadMutexUnlock(&mutex);
        CHECK(join(thread), 1);
        CHECK(steps, 1);
        CHECK(trail[0], 5);
        CHECK_SCE(scePthreadMutexTrylock(&mutex), 0);
        CHECK_SCE(scePthreadMutexUnlock(&mutex), 0);
        CHECK_SCE(scePthreadCondSignal(&condition), 0);
    }
}

static void *before_a_semaphore(void *unused)
{
    (void)unused;
    open_gate(&reached);
    pass(&gate);
    struct timespec late = {1l << 40, 0};
    if (timed)
        sem_timedwait(&semaphore, &late);
    else
        sem_wait(&semaphore);
    step(9);
    return NULL;
}

static void semaphores_keep_their_tokens(void)
{
    for (timed = 0; timed < 2; timed++) {
        begin();
        int value = -1;
        CHECK(sem_init(&semaphore, 0, 1), 0);
        ScePthread thread = start(before_a_semaphore);
        pass(&reached);
        CHECK_SCE(scePthreadCancel(thread), 0);
        open_gate(&gate);
        CHECK(join(thread), 1);
        CHECK(steps, 0);
        CHECK(sem_getvalue(&semaphore, &value), 0);
        CHECK(value, 1);
        /* Whether it waits already or not. */
        CHECK(sem_trywait(&semaphore), 0);
        begin();
        thread = start(before_a_semaphore);
        open_gate(&gate);
        CHECK_SCE(scePthreadCancel(thread), 0);
        CHECK(join(thread), 1);
        CHECK(steps, 0);
        CHECK(sem_post(&semaphore), 0);
        CHECK(sem_wait(&semaphore), 0);
    }
}

static ScePthread target;
static void *joined = (void *)5;

static void *held(void *unused)
{
    (void)unused;
    pass(&gate);
    return (void *)42;
}

static void *joining(void *unused)
{
    (void)unused;
    open_gate(&reached);
    pthread_join(target, &joined);
    step(9);
    return NULL;
}

static void joins_leave_their_target(void)
{
    begin();
    target = start(held);
    ScePthread thread = start(joining);
    pass(&reached);
    CHECK_SCE(scePthreadCancel(thread), 0);
    CHECK(join(thread), 1);
    CHECK(steps, 0);
    CHECK(joined, 5);
    open_gate(&gate);
    CHECK(join(target), 42);
}

static void *sleeping(void *unused)
{
    (void)unused;
    open_gate(&reached);
    sceKernelUsleep(60000000);
    step(9);
    return NULL;
}

static void sleeps_end(void)
{
    begin();
    ScePthread thread = start(sleeping);
    pass(&reached);
    CHECK_SCE(scePthreadCancel(thread), 0);
    CHECK(join(thread), 1);
    CHECK(steps, 0);
}

static void *leaving(void *unused)
{
    (void)unused;
    scePthreadSetspecific(key, (void *)30);
    __pthread_cleanup_push_imp(note, (void *)10, NULL);
    scePthreadExit((void *)8);
    return NULL;
}

static void *canceling_itself(void *unused)
{
    (void)unused;
    int old;
    CHECK_SCE(scePthreadCancel(scePthreadSelf()), 0);
    step(1);
    CHECK_SCE(scePthreadSetcanceltype(1, &old), E_INVAL);
    /* Asynchronous: at once. */
    scePthreadSetcanceltype(2, &old);
    step(9);
    return NULL;
}

static void threads_end_in_order(void)
{
    begin();
    CHECK(join(start(leaving)), 8);
    CHECK(steps, 2);
    CHECK(trail[0], 10);
    CHECK(trail[1], 30);
    begin();
    CHECK(join(start(canceling_itself)), 1);
    CHECK(steps, 1);
    begin();
    ScePthread thread = start(held);
    CHECK_SCE(scePthreadJoin(scePthreadSelf(), NULL), E_DEADLK);
    CHECK_SCE(scePthreadDetach(thread), 0);
    CHECK_SCE(scePthreadDetach(thread), E_INVAL);
    CHECK_SCE(scePthreadJoin(thread, NULL), E_INVAL);
    open_gate(&gate);
    CHECK_SCE(scePthreadJoin((ScePthread)16, NULL), E_SRCH);
}

int main(void)
{
    CHECK_SCE(scePthreadKeyCreate(&key, destroy), 0);
    for (int round = 0; round < 20; round++) {
        requests_wait_for_a_point();
        disabled_requests_stay_pending();
        conditions_give_their_mutex_back();
        semaphores_keep_their_tokens();
        joins_leave_their_target();
        sleeps_end();
        threads_end_in_order();
    }
    CHECK_SCE(scePthreadKeyDelete(key), 0);
    return relic_checked();
}
