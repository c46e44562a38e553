/* Fibers: their rules and errors, what a switch keeps, and hundreds of them that hop between threads. */
#include <relic/check.h>

enum { FIBER_NULL = 1, FIBER_ALIGNMENT, FIBER_RANGE, FIBER_INVALID, FIBER_PERMISSION, FIBER_STATE };
#define CHECK_FIBER(found, number) \
    relic_check(#found, (int)(found), (number) ? (int)(0x80590000u | (number)) : 0, __LINE__)

struct fiber {
    uint64_t words[32];
};

struct info {
    uint64_t size;
    void (*entry)(uint64_t, uint64_t);
    uint64_t argument;
    void *stack;
    uint64_t stack_size;
    char name[32];
    uint64_t margin, rest[6];
};

_Static_assert(sizeof(struct info) == 128, "size on the console");

enum { STACK = 64 * 1024 };
static struct fiber one, other, third;
static char stacks[3][STACK] __attribute__((aligned(16)));

static int make(struct fiber *fiber, const char *name, void (*entry)(uint64_t, uint64_t), uint64_t argument, void *stack)
{
    return _sceFiberInitializeImpl(fiber, name, entry, argument, stack, stack ? STACK : 0, NULL, 0);
}

static void never(uint64_t argument, uint64_t run)
{
    CHECK(argument, run + 1000000);
    sceFiberReturnToThread(0, NULL);
}

static void errors(void)
{
    uint64_t value;
    void *self;
    static struct info info;
    static uint64_t options[16];
    char *stack = stacks[0];
    void *odd = (char *)&one + 4;
    CHECK_FIBER(make(NULL, "f", never, 0, stack), FIBER_NULL);
    CHECK_FIBER(make(&one, NULL, never, 0, stack), FIBER_NULL);
    CHECK_FIBER(make(&one, "f", NULL, 0, stack), FIBER_NULL);
    CHECK_FIBER(make(odd, "f", never, 0, stack), FIBER_ALIGNMENT);
    CHECK_FIBER(make(&one, "f", never, 0, stack + 8), FIBER_ALIGNMENT);
    CHECK_FIBER(_sceFiberInitializeImpl(&one, "f", never, 0, stack, 496, NULL, 0), FIBER_RANGE);
    CHECK_FIBER(_sceFiberInitializeImpl(&one, "f", never, 0, stack, 1000, NULL, 0), FIBER_INVALID);
    CHECK_FIBER(_sceFiberInitializeImpl(&one, "f", never, 0, stack, 0, NULL, 0), FIBER_INVALID);
    CHECK_FIBER(_sceFiberInitializeImpl(&one, "f", never, 0, NULL, 4096, NULL, 0), FIBER_INVALID);
    CHECK_FIBER(_sceFiberInitializeImpl(&one, "f", never, 0, stack, STACK, options, 0), FIBER_INVALID);
    CHECK_FIBER(sceFiberOptParamInitialize(NULL), FIBER_NULL);
    CHECK_FIBER(sceFiberOptParamInitialize((char *)options + 4), FIBER_ALIGNMENT);
    CHECK_FIBER(sceFiberOptParamInitialize(options), 0);
    CHECK_FIBER(_sceFiberInitializeImpl(&one, "f", never, 0, stack, STACK, options, 0), 0);
    /* What was never initialised is no fiber. */
    CHECK_FIBER(sceFiberRun(NULL, 0, NULL), FIBER_NULL);
    CHECK_FIBER(sceFiberRun(odd, 0, NULL), FIBER_ALIGNMENT);
    CHECK_FIBER(sceFiberRun(&other, 0, NULL), FIBER_INVALID);
    CHECK_FIBER(sceFiberFinalize(NULL), FIBER_NULL);
    CHECK_FIBER(sceFiberFinalize(odd), FIBER_ALIGNMENT);
    CHECK_FIBER(sceFiberFinalize(&other), FIBER_INVALID);
    CHECK_FIBER(sceFiberSwitch(&other, 0, NULL), FIBER_INVALID);
    CHECK_FIBER(sceFiberRename(&other, "g"), FIBER_INVALID);
    CHECK_FIBER(sceFiberRename(&one, NULL), FIBER_NULL);
    /* Outside of fibers. */
    CHECK_FIBER(sceFiberSwitch(&one, 0, NULL), FIBER_PERMISSION);
    CHECK_FIBER(sceFiberReturnToThread(0, NULL), FIBER_PERMISSION);
    CHECK_FIBER(sceFiberGetSelf(&self), FIBER_PERMISSION);
    CHECK_FIBER(sceFiberGetSelf(NULL), FIBER_NULL);
    CHECK_FIBER(sceFiberGetThreadFramePointerAddress(&value), FIBER_PERMISSION);
    CHECK_FIBER(sceFiberGetThreadFramePointerAddress(NULL), FIBER_NULL);
    /* What it says about itself. */
    CHECK_FIBER(sceFiberGetInfo(&one, NULL), FIBER_NULL);
    CHECK_FIBER(sceFiberGetInfo(&one, &info), FIBER_INVALID);
    info.size = sizeof info;
    CHECK_FIBER(sceFiberGetInfo(&one, (char *)&info + 4), FIBER_ALIGNMENT);
    CHECK_FIBER(sceFiberGetInfo(&one, &info), 0);
    CHECK(info.entry, never);
    CHECK(info.stack, stack);
    CHECK(info.stack_size, STACK);
    CHECK(info.margin, -1);
    CHECK(strcmp(info.name, "f"), 0);
    CHECK_FIBER(sceFiberRename(&one, "a name of more than thirty-one letters"), 0);
    CHECK_FIBER(sceFiberGetInfo(&one, &info), 0);
    CHECK(strcmp(info.name, "a name of more than thirty-one "), 0);
    /* A stack that it has already. */
    CHECK_FIBER(_sceFiberAttachContextAndRun(&one, stacks[1], STACK, 0, NULL), FIBER_INVALID);
    CHECK_FIBER(sceFiberFinalize(&one), 0);
    CHECK_FIBER(sceFiberFinalize(&one), FIBER_STATE);
    CHECK_FIBER(sceFiberRun(&one, 0, NULL), FIBER_STATE);
}

/* Arguments in and out. */

static void adder(uint64_t argument, uint64_t run)
{
    uint64_t sum = argument, frame = 0;
    void *self = NULL;
    CHECK_FIBER(sceFiberGetSelf(&self), 0);
    CHECK(self, &one);
    CHECK_FIBER(sceFiberGetThreadFramePointerAddress(&frame), 0);
    CHECK_FIBER(sceFiberRun(&other, 0, NULL), FIBER_PERMISSION);
    CHECK_FIBER(sceFiberRun(&one, 0, NULL), FIBER_PERMISSION);
    CHECK_FIBER(sceFiberSwitch(&one, 0, NULL), FIBER_STATE);
    CHECK_FIBER(sceFiberFinalize(&one), FIBER_STATE);
    for (;;) {
        sum += run;
        CHECK_FIBER(sceFiberReturnToThread(sum, &run), 0);
    }
}

static void arguments(void)
{
    uint64_t value = 0, sum = 1000;
    CHECK_FIBER(make(&one, "adder", adder, 1000, stacks[0]), 0);
    CHECK_FIBER(make(&other, "never", never, 0, stacks[1]), 0);
    for (uint64_t i = 1; i <= 100; i++) {
        sum += i;
        CHECK_FIBER(sceFiberRun(&one, i, &value), 0);
        CHECK(value, sum);
    }
    CHECK_FIBER(sceFiberRun(&one, 5, NULL), 0);
    CHECK_FIBER(sceFiberFinalize(&one), 0);
}

/* Three fibers in a ring. */

static struct fiber *const ring[] = {&one, &other, &third};

static void hand_on(uint64_t index, uint64_t count)
{
    for (;;) {
        CHECK(count % 3, index);
        if (count == 300)
            CHECK_FIBER(sceFiberReturnToThread(count + 7, &count), 0);
        else
            CHECK_FIBER(sceFiberSwitch(ring[(index + 1) % 3], count + 1, &count), 0);
    }
}

static void in_a_ring(void)
{
    uint64_t value = 0;
    for (uint64_t i = 0; i < 3; i++)
        CHECK_FIBER(make(ring[i], "ring", hand_on, i, stacks[i]), 0);
    CHECK_FIBER(sceFiberRun(&one, 0, &value), 0);
    CHECK(value, 307);
    CHECK_FIBER(sceFiberRun(&one, 150, &value), 0);
    CHECK(value, 307);
    for (int i = 0; i < 3; i++)
        CHECK_FIBER(sceFiberFinalize(ring[i]), 0);
}

/* Without a stack: on the thread's, from the beginning each time. */

static int begun;

static void begin_again(uint64_t argument, uint64_t run)
{
    volatile char much[20000];
    much[run] = (char)argument;
    begun++;
    if (run > 0 && run % 2 == 0)
        sceFiberSwitch(&third, run - 1, NULL);
    if (run > 0)
        sceFiberSwitch(&one, run - 1, NULL);
    sceFiberReturnToThread(99, NULL);
    CHECK(0, "a fiber without a stack came back");
}

static void with_stack(uint64_t argument, uint64_t run)
{
    (void)argument;
    for (;;)
        if (run == 0)
            sceFiberReturnToThread(98, &run);
        else
            sceFiberSwitch(run % 3 ? &one : &other, run - 1, &run);
}

static void without_stacks(void)
{
    uint64_t value = 0;
    CHECK_FIBER(make(&one, "a", begin_again, 1, NULL), 0);
    CHECK_FIBER(make(&other, "b", begin_again, 2, NULL), 0);
    CHECK_FIBER(make(&third, "c", with_stack, 3, stacks[2]), 0);
    for (int i = 0; i < 10; i++) {
        begun = 0;
        CHECK_FIBER(sceFiberRun(&other, 1, &value), 0);
        CHECK(value, 99);
        CHECK(begun, 2);
        CHECK_FIBER(sceFiberRun(&other, 20, &value), 0);
        CHECK(value == 98 || value == 99, 1);
        CHECK(begun > 5, 1);
    }
    for (int i = 0; i < 3; i++)
        CHECK_FIBER(sceFiberFinalize(ring[i]), 0);
    /* One gets its stack when it is run. */
    CHECK_FIBER(make(&one, "late", hand_on, 0, NULL), 0);
    CHECK_FIBER(make(&other, "late", hand_on, 1, NULL), 0);
    CHECK_FIBER(_sceFiberAttachContextAndRun(&one, stacks[0], 256, 300, &value), FIBER_RANGE);
    CHECK_FIBER(_sceFiberAttachContextAndRun(&one, NULL, STACK, 300, &value), FIBER_INVALID);
    CHECK_FIBER(_sceFiberAttachContextAndRun(&one, stacks[0], 0, 300, &value), FIBER_INVALID);
    CHECK_FIBER(_sceFiberAttachContextAndRun(&one, stacks[0] + 8, STACK, 300, &value), FIBER_ALIGNMENT);
    CHECK_FIBER(_sceFiberAttachContextAndRun(&one, stacks[0], STACK, 300, &value), 0);
    CHECK(value, 307);
    CHECK_FIBER(sceFiberRun(&one, 300, &value), 0);
    CHECK_FIBER(sceFiberFinalize(&one), 0);
}

/* Floating-point control words are a stack's own. */

static unsigned mxcsr(void)
{
    unsigned value;
    __asm__ volatile("stmxcsr %0" : "=m"(value));
    return value & ~63u;
}
static void set_mxcsr(unsigned value)
{
    __asm__ volatile("ldmxcsr %0" : : "m"(value));
}
static unsigned x87(void)
{
    unsigned short value;
    __asm__ volatile("fnstcw %0" : "=m"(value));
    return value;
}
static void set_x87(unsigned short value)
{
    __asm__ volatile("fldcw %0" : : "m"(value));
}

static void round_otherwise(uint64_t expected_mxcsr, uint64_t expected_x87)
{
    CHECK(mxcsr(), expected_mxcsr);
    CHECK(x87(), expected_x87);
    set_mxcsr(0x7f80);
    set_x87(0x0f7f);
    for (;;) {
        sceFiberReturnToThread(0, NULL);
        CHECK(mxcsr(), 0x7f80);
        CHECK(x87(), 0x0f7f);
    }
}

static void control_words(void)
{
    unsigned own_mxcsr = mxcsr(), own_x87 = x87();
    set_mxcsr(0x3f80);
    set_x87(0x027f);
    CHECK_FIBER(make(&one, "inherits", round_otherwise, 0x3f80, stacks[0]), 0);
    CHECK_FIBER(_sceFiberInitializeImpl(&other, "own", round_otherwise, 0x9fc0 & ~63, stacks[1], STACK, NULL, 0x03500000), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_FIBER(sceFiberRun(&one, 0x027f, NULL), 0);
        CHECK(mxcsr(), 0x3f80);
        CHECK(x87(), 0x027f);
        CHECK_FIBER(sceFiberRun(&other, 0x037f, NULL), 0);
        CHECK(mxcsr(), 0x3f80);
        CHECK(x87(), 0x027f);
    }
    set_mxcsr(own_mxcsr);
    set_x87((unsigned short)own_x87);
    CHECK_FIBER(sceFiberFinalize(&one), 0);
    CHECK_FIBER(sceFiberFinalize(&other), 0);
}

/* How much of a stack is used. */

static void use(uint64_t bytes, uint64_t run)
{
    (void)run;
    volatile char space[bytes];
    for (uint64_t i = 0; i < bytes; i++)
        space[i] = 1;
    sceFiberReturnToThread((uint64_t)space[bytes / 2], NULL);
}

static void measured(void)
{
    static struct info info = {.size = sizeof info};
    CHECK_FIBER(sceFiberStopContextSizeCheck(), FIBER_STATE);
    CHECK_FIBER(sceFiberStartContextSizeCheck(1), FIBER_INVALID);
    CHECK_FIBER(sceFiberStartContextSizeCheck(0), 0);
    CHECK_FIBER(sceFiberStartContextSizeCheck(0), FIBER_STATE);
    CHECK_FIBER(make(&one, "measured", use, 40000, stacks[0]), 0);
    CHECK_FIBER(sceFiberStopContextSizeCheck(), 0);
    CHECK_FIBER(sceFiberGetInfo(&one, &info), 0);
    CHECK(info.margin, STACK - 8);
    CHECK_FIBER(sceFiberRun(&one, 0, NULL), 0);
    CHECK_FIBER(sceFiberGetInfo(&one, &info), 0);
    CHECK(info.margin < STACK - 40000, 1);
    CHECK(info.margin > STACK - 48000, 1);
    CHECK_FIBER(sceFiberFinalize(&one), 0);
}

/* Hundreds of them on four threads, which are stopped by exceptions meanwhile. */

enum { FIBERS = 300, THREADS = 4, STEPS = 200000, SMALL_STACK = 32 * 1024 };
static struct fiber many[FIBERS];
static char many_stacks[FIBERS][SMALL_STACK] __attribute__((aligned(16)));
static int running[FIBERS];
static long steps[FIBERS], total, hops, busy, raised;

/* Enough steps, and enough exceptions meanwhile. */
static int is_enough(void)
{
    return __atomic_load_n(&total, __ATOMIC_SEQ_CST) >= STEPS && __atomic_load_n(&raised, __ATOMIC_SEQ_CST) >= 20;
}

static unsigned random_number(unsigned *seed)
{
    return *seed = *seed * 1664525 + 1013904223, *seed >> 8;
}

static void hop(uint64_t index, uint64_t run)
{
    unsigned seed = (unsigned)index + 1, sum = 0;
    volatile uint64_t kept[8];
    for (int i = 0; i < 8; i++)
        kept[i] = index * 8 + (uint64_t)i;
    double value = (double)index, step = 0.5;
    ScePthread before = scePthreadSelf();
    long mine = 0;
    for (;;) {
        void *self = NULL;
        /* Nobody else runs it, and it is what runs here. */
        CHECK(__atomic_exchange_n(&running[index], 1, __ATOMIC_SEQ_CST), 0);
        CHECK(sceFiberGetSelf(&self), 0);
        CHECK(self, &many[index]);
        CHECK(run, 4711);
        for (int i = 0; i < 8; i++)
            sum += kept[i] != index * 8 + (uint64_t)i;
        CHECK(sum, 0);
        value += step;
        CHECK(value == (double)index + 0.5 * (double)++mine, 1);
        if (!scePthreadEqual(before, scePthreadSelf())) {
            before = scePthreadSelf();
            __atomic_fetch_add(&hops, 1, __ATOMIC_RELAXED);
        }
        steps[index]++;
        __atomic_fetch_add(&total, 1, __ATOMIC_SEQ_CST);
        int done = is_enough();
        for (;;) {
            unsigned next = random_number(&seed) % FIBERS;
            __atomic_store_n(&running[index], 0, __ATOMIC_SEQ_CST);
            if (done || random_number(&seed) % 16 == 0) {
                CHECK(sceFiberReturnToThread(index, &run), 0);
                break;
            }
            int result = sceFiberSwitch(&many[next], 4711, &run);
            if (result == 0)
                break;
            CHECK_FIBER(result, FIBER_STATE);
            __atomic_fetch_add(&busy, 1, __ATOMIC_RELAXED);
            CHECK(__atomic_exchange_n(&running[index], 1, __ATOMIC_SEQ_CST), 0);
        }
    }
}

static void *run_many(void *argument)
{
    unsigned seed = 77 + (unsigned)(long)argument;
    while (!is_enough()) {
        uint64_t back = FIBERS;
        int result = sceFiberRun(&many[random_number(&seed) % FIBERS], 4711, &back);
        if (result == 0)
            CHECK(back < FIBERS, 1);
        else
            CHECK_FIBER(result, FIBER_STATE);
    }
    return NULL;
}

static void on_raised(int signal, void *context)
{
    (void)context;
    CHECK(signal, 30);
    __atomic_fetch_add(&raised, 1, __ATOMIC_SEQ_CST);
}

static void hopping(void)
{
    ScePthread threads[THREADS];
    CHECK_SCE(sceKernelInstallExceptionHandler(30, on_raised), 0);
    for (uint64_t i = 0; i < FIBERS; i++)
        CHECK_FIBER(_sceFiberInitializeImpl(&many[i], "many", hop, i, many_stacks[i], SMALL_STACK, NULL, 0x03500000), 0);
    for (long i = 0; i < THREADS; i++)
        CHECK_SCE(scePthreadCreate(&threads[i], NULL, run_many, (void *)i, "runner"), 0);
    for (int i = 0; !is_enough(); i++)
        CHECK_SCE(sceKernelRaiseException(threads[i % THREADS], 30), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_SCE(scePthreadJoin(threads[i], NULL), 0);
    CHECK_SCE(sceKernelRemoveExceptionHandler(30), 0);
    long sum = 0, ran = 0;
    for (int i = 0; i < FIBERS; i++) {
        sum += steps[i];
        ran += steps[i] > 0;
        CHECK(running[i], 0);
        CHECK_FIBER(sceFiberFinalize(&many[i]), 0);
    }
    CHECK(sum, total);
    CHECK(sum >= STEPS, 1);
    CHECK(ran, FIBERS);
    CHECK(hops > FIBERS, 1);
}

/* A thread that is cancelled, or ends itself, inside of a fiber takes its handlers with it, and no other fiber. */

static void *never_posted, *about_to_wait;
static int cleaned;

static void clean(void *argument)
{
    void *self = NULL;
    CHECK_FIBER(sceFiberGetSelf(&self), 0);
    CHECK(self, argument);
    cleaned++;
}

static void wait_in_fiber(uint64_t argument, uint64_t run)
{
    char block[64];
    (void)argument;
    __pthread_cleanup_push_imp(clean, &one, block);
    if (run)
        scePthreadExit((void *)run);
    sem_post(&about_to_wait);
    sem_wait(&never_posted);
    CHECK(0, "a cancelled thread went on");
}

static void *run_one(void *argument)
{
    sceFiberRun(&one, (uint64_t)argument, NULL);
    CHECK(0, "a thread that ended went on");
    return NULL;
}

static void ends(void)
{
    CHECK(sem_init(&never_posted, 0, 0), 0);
    CHECK(sem_init(&about_to_wait, 0, 0), 0);
    for (long i = 0; i < 40; i++) {
        ScePthread thread;
        void *result = NULL;
        uint64_t value = 0;
        CHECK_FIBER(make(&one, "ends", wait_in_fiber, 0, stacks[0]), 0);
        CHECK_FIBER(make(&other, "goes on", hand_on, 0, stacks[1]), 0);
        CHECK_FIBER(sceFiberRun(&other, 300, &value), 0);
        long way = i % 2 ? 50 + i : 0;
        CHECK_SCE(scePthreadCreate(&thread, NULL, run_one, (void *)way, "ends"), 0);
        if (way == 0) {
            CHECK(sem_wait(&about_to_wait), 0);
            CHECK_SCE(scePthreadCancel(thread), 0);
        }
        CHECK_SCE(scePthreadJoin(thread, &result), 0);
        CHECK(result, way ? way : 1);
        CHECK(cleaned, i + 1);
        /* It still counts as running. */
        CHECK_FIBER(sceFiberRun(&one, 0, NULL), FIBER_STATE);
        CHECK_FIBER(sceFiberRun(&other, 300, &value), 0);
        CHECK(value, 307);
        CHECK_FIBER(sceFiberFinalize(&other), 0);
    }
}

int main(void)
{
    errors();
    arguments();
    in_a_ring();
    without_stacks();
    control_words();
    measured();
    hopping();
    ends();
    return relic_checked();
}
