/* Threads of the console's own interface: create and join, mutex, condition, thread-local data. */
#include <relic/guest.h>

#define THREADS 4
#define ROUNDS 1000

static ScePthreadMutex mutex;
static ScePthreadCond condition;
static int turn, counter;

_Thread_local int own = 100;

static void *count(void *argument)
{
    int index = (int)(long)argument;
    for (int i = 0; i < ROUNDS; i++) {
        scePthreadMutexLock(&mutex);
        counter++;
        own++;
        scePthreadMutexUnlock(&mutex);
        if (i % 100 == 0)
            scePthreadYield();
    }
    /* Print in order: each waits for its turn. */
    scePthreadMutexLock(&mutex);
    while (turn != index)
        scePthreadCondWait(&condition, &mutex);
    printf("thread %d: own=%d self=%d\n", index, own, scePthreadEqual(scePthreadSelf(), scePthreadSelf()) != 0);
    turn++;
    scePthreadCondBroadcast(&condition);
    scePthreadMutexUnlock(&mutex);
    return (void *)(long)(own + index);
}

static void *try(void *argument)
{
    (void)argument;
    unsigned result = (unsigned)scePthreadMutexTrylock(&mutex);
    return (void *)(unsigned long)result;
}

int main(void)
{
    ScePthread threads[THREADS];
    printf("init %d %d\n", scePthreadMutexInit(&mutex, NULL, "counter"), scePthreadCondInit(&condition, NULL, "turn"));
    for (long i = 0; i < THREADS; i++)
        if (scePthreadCreate(&threads[i], NULL, count, (void *)i, "worker") != 0)
            return 1;
    long sum = 0;
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        if (scePthreadJoin(threads[i], &result) != 0)
            return 2;
        sum += (long)result;
    }
    printf("counter=%d own=%d sum=%ld\n", counter, own, sum);

    /* A mutex that another thread holds can't be had. */
    void *result = NULL;
    scePthreadMutexLock(&mutex);
    scePthreadCreate(&threads[0], NULL, try, NULL, "try");
    scePthreadJoin(threads[0], &result);
    printf("trylock %x\n", (unsigned)(unsigned long)result);
    /* Nobody signals: the time runs out. */
    printf("timedwait %x\n", (unsigned)scePthreadCondTimedwait(&condition, &mutex, 2000));
    scePthreadMutexUnlock(&mutex);

    ScePthreadMutexattr attributes;
    ScePthreadMutex recursive;
    scePthreadMutexattrInit(&attributes);
    scePthreadMutexattrSettype(&attributes, SCE_PTHREAD_MUTEX_RECURSIVE);
    scePthreadMutexInit(&recursive, &attributes, "recursive");
    scePthreadMutexattrDestroy(&attributes);
    printf("recursive %d %d", scePthreadMutexLock(&recursive), scePthreadMutexLock(&recursive));
    printf(" %d %d", scePthreadMutexUnlock(&recursive), scePthreadMutexUnlock(&recursive));
    printf(" %x\n", (unsigned)scePthreadMutexUnlock(&recursive));
    printf("destroy %d %d %d\n", scePthreadMutexDestroy(&recursive), scePthreadCondDestroy(&condition),
           scePthreadMutexDestroy(&mutex));
    return sum == 4 * (100 + ROUNDS) + 6 ? 0 : 3;
}
