/* Event queues: timers, and user events beside them. */
#include <relic/check.h>

enum { TIMER = -7, USER = -11, HR_TIMER = -15, CLEAR = 0x20, ONE_SHOT = 0x10 };

static uint64_t queue;
static struct kernel_event events[80];
static int count;

static uint64_t now(void)
{
    struct timespec time;
    CHECK(sceKernelClockGettime(4, &time), 0);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t open_queue(void)
{
    uint64_t made = 0;
    CHECK_SCE(sceKernelCreateEqueue(&made, "queue"), 0);
    return made;
}

/* Waits for ever. */
static int take(int limit)
{
    count = -1;
    int result = sceKernelWaitEqueue(queue, events, limit, &count, NULL);
    CHECK_SCE(result, 0);
    CHECK(count > 0, 1);
    return count;
}

static void expect_nothing(unsigned microseconds)
{
    CHECK_SCE(sceKernelWaitEqueue(queue, events, 80, &count, &microseconds), E_TIMEDOUT);
    CHECK(count, 0);
}

static void errors(void)
{
    struct timespec time = {0, 1000000}, wrong = {0, 1000000000}, negative = {-1, 0};
    CHECK_SCE(sceKernelAddTimerEvent(77777, 1, 1000, NULL), E_BADF);
    CHECK_SCE(sceKernelDeleteTimerEvent(77777, 1), E_BADF);
    CHECK_SCE(sceKernelAddHRTimerEvent(77777, 1, &time, NULL), E_BADF);
    CHECK_SCE(sceKernelDeleteHRTimerEvent(77777, 1), E_BADF);
    CHECK_SCE(sceKernelDeleteTimerEvent(queue, 1), E_NOENT);
    CHECK_SCE(sceKernelDeleteHRTimerEvent(queue, 1), E_NOENT);
    CHECK_SCE(sceKernelAddHRTimerEvent(queue, 1, NULL, NULL), E_INVAL);
    CHECK_SCE(sceKernelAddHRTimerEvent(queue, 1, &wrong, NULL), E_INVAL);
    CHECK_SCE(sceKernelAddHRTimerEvent(queue, 1, &negative, NULL), E_INVAL);
    expect_nothing(0);
}

/* A timer goes on until it is deleted; its data says how often it went off, and no time is lost however late one looks. */
static void periodic(void)
{
    uint64_t start = now();
    CHECK_SCE(sceKernelAddTimerEvent(queue, 5, 1999, (void *)55), 0);
    int64_t times = 0;
    while (times < 20) {
        CHECK(take(80), 1);
        CHECK(sceKernelGetEventId(events), 5);
        CHECK(sceKernelGetEventFilter(events), TIMER);
        CHECK(sceKernelGetEventUserData(events), 55);
        CHECK(events[0].flags, CLEAR);
        CHECK(events[0].filter_flags, 0);
        CHECK(sceKernelGetEventData(events) >= 1, 1);
        times += sceKernelGetEventData(events);
        /* The kernel counts whole milliseconds. */
        CHECK(now() - start >= (uint64_t)times * 1000000, 1);
    }
    /* A look that comes late finds all of them in one record. */
    uint64_t late = now() + 20000000;
    while (now() < late)
        scePthreadYield();
    CHECK(take(80), 1);
    CHECK(events[0].data >= 15, 1);
    /* Registered again: new data at once, the new period later. */
    CHECK_SCE(sceKernelAddTimerEvent(queue, 5, 3000, (void *)56), 0);
    take(80);
    CHECK(events[0].user_data, 56);
    take(80);
    start = now();
    times = 0;
    while (times < 10) {
        take(80);
        times += events[0].data;
    }
    CHECK(now() - start >= 24000000, 1);
    /* The same number as a timer of the other kind is another one. */
    CHECK_SCE(sceKernelDeleteHRTimerEvent(queue, 5), E_NOENT);
    CHECK_SCE(sceKernelDeleteTimerEvent(queue, 5), 0);
    CHECK_SCE(sceKernelDeleteTimerEvent(queue, 5), E_NOENT);
    expect_nothing(8000);
    /* Less than a millisecond is one. */
    CHECK_SCE(sceKernelAddTimerEvent(queue, 6, 0, NULL), 0);
    take(1);
    CHECK(events[0].ident, 6);
    CHECK_SCE(sceKernelDeleteTimerEvent(queue, 6), 0);
    expect_nothing(4000);
}

/* A high-resolution timer goes off once, not too early, and those of one queue do so in order. */
static void high_resolution(void)
{
    for (int i = 0; i < 40; i++) {
        struct timespec time = {0, 100000 + i * 50000};
        uint64_t start = now();
        CHECK_SCE(sceKernelAddHRTimerEvent(queue, 9, &time, (void *)(long)i), 0);
        CHECK(take(80), 1);
        CHECK(now() - start >= (uint64_t)time.tv_nsec, 1);
        CHECK(events[0].ident, 9);
        CHECK(events[0].filter, HR_TIMER);
        CHECK(events[0].flags, CLEAR | ONE_SHOT);
        CHECK(events[0].data, 1);
        CHECK(events[0].user_data, i);
    }
    CHECK_SCE(sceKernelDeleteHRTimerEvent(queue, 9), E_NOENT);
    expect_nothing(3000);
    /* One that went off and was not taken is still there. */
    struct timespec soon = {0, 0}, never = {1000000, 0};
    CHECK_SCE(sceKernelAddHRTimerEvent(queue, 9, &soon, NULL), 0);
    uint64_t other = queue;
    queue = open_queue();
    CHECK_SCE(sceKernelAddHRTimerEvent(queue, 1, &(struct timespec){0, 2000000}, NULL), 0);
    take(1);
    CHECK_SCE(sceKernelDeleteEqueue(queue), 0);
    queue = other;
    CHECK_SCE(sceKernelDeleteHRTimerEvent(queue, 9), 0);
    expect_nothing(0);
    /* One that is deleted does not go off. */
    CHECK_SCE(sceKernelAddHRTimerEvent(queue, 9, &(struct timespec){0, 2000000}, NULL), 0);
    CHECK_SCE(sceKernelDeleteHRTimerEvent(queue, 9), 0);
    CHECK_SCE(sceKernelAddHRTimerEvent(queue, 10, &never, NULL), 0);
    expect_nothing(5000);
    CHECK_SCE(sceKernelDeleteHRTimerEvent(queue, 10), 0);
    /* Many, registered backwards. */
    for (int i = 63; i >= 0; i--) {
        struct timespec time = {0, 20000000 + i * 200000};
        CHECK_SCE(sceKernelAddHRTimerEvent(queue, 100 + i, &time, (void *)(long)i), 0);
    }
    for (int next = 0; next < 64;) {
        take(80);
        for (int i = 0; i < count; i++, next++)
            CHECK(events[i].user_data, next);
    }
    expect_nothing(0);
}

/* Beside user events, within the number that a wait asks for, in the order in which they came. */
static void together(void)
{
    CHECK_SCE(sceKernelAddUserEvent(queue, 1), 0);
    CHECK_SCE(sceKernelAddUserEventEdge(queue, 2), 0);
    CHECK_SCE(sceKernelTriggerUserEvent(queue, 2, (void *)20), 0);
    /* Registered again, it stays what it is, and pending. */
    CHECK_SCE(sceKernelAddUserEvent(queue, 2), 0);
    CHECK_SCE(sceKernelTriggerUserEvent(queue, 2, (void *)21), 0);
    CHECK_SCE(sceKernelAddHRTimerEvent(queue, 3, &(struct timespec){0, 300000}, (void *)30), 0);
    CHECK(take(1), 1);
    CHECK(events[0].ident, 2);
    CHECK(events[0].flags, CLEAR);
    CHECK(events[0].user_data, 21);
    CHECK(take(1), 1);
    CHECK(events[0].filter, HR_TIMER);
    CHECK_SCE(sceKernelTriggerUserEvent(queue, 1, (void *)10), 0);
    for (int i = 0; i < 3; i++) {
        CHECK(take(80), 1);
        CHECK(events[0].filter, USER);
        CHECK(events[0].ident, 1);
        CHECK(events[0].flags, 0);
        CHECK(events[0].user_data, 10);
    }
    CHECK_SCE(sceKernelAddTimerEvent(queue, 1, 1000, (void *)40), 0);
    do
        take(80);
    while (count != 2);
    CHECK(events[0].filter, USER);
    CHECK(events[1].filter, TIMER);
    CHECK_SCE(sceKernelDeleteUserEvent(queue, 1), 0);
    CHECK_SCE(sceKernelDeleteTimerEvent(queue, 1), 0);
    CHECK_SCE(sceKernelDeleteUserEvent(queue, 2), 0);
    expect_nothing(0);
}

static void *drain(void *argument)
{
    struct kernel_event event;
    int got, events_seen = 0;
    (void)argument;
    while (sceKernelWaitEqueue(queue, &event, 1, &got, NULL) == 0)
        events_seen += (int)event.data;
    return (void *)(long)events_seen;
}

/* Several threads wait for one queue: each time is taken by one of them; its end ends them all, and its timers. */
static void shared(void)
{
    ScePthread threads[4];
    uint64_t start = now();
    for (int i = 0; i < 4; i++)
        CHECK_SCE(sceKernelAddTimerEvent(queue, i, 1000, NULL), 0);
    for (int i = 0; i < 4; i++)
        CHECK_SCE(scePthreadCreate(&threads[i], NULL, drain, NULL, "drain"), 0);
    while (now() - start < 30000000)
        scePthreadYield();
    CHECK_SCE(sceKernelDeleteEqueue(queue), 0);
    uint64_t end = now();
    long times = 0;
    for (int i = 0; i < 4; i++) {
        void *seen;
        CHECK_SCE(scePthreadJoin(threads[i], &seen), 0);
        times += (long)seen;
    }
    CHECK(times >= 4 * 10, 1);
    CHECK((uint64_t)times <= 4 * ((end - start) / 1000000), 1);
    CHECK_SCE(sceKernelAddTimerEvent(queue, 1, 1000, NULL), E_BADF);
}

int main(void)
{
    queue = open_queue();
    errors();
    periodic();
    high_resolution();
    together();
    shared();
    /* Queues that come and go with timers in them leave nothing that rings. */
    for (int i = 0; i < 200; i++) {
        queue = open_queue();
        CHECK_SCE(sceKernelAddTimerEvent(queue, 1, 1000, NULL), 0);
        CHECK_SCE(sceKernelAddHRTimerEvent(queue, 1, &(struct timespec){0, 100000}, NULL), 0);
        CHECK_SCE(sceKernelDeleteEqueue(queue), 0);
    }
    return relic_checked();
}
