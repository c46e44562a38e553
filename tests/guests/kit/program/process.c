/* The process parameter block, which the console and its C library read before the program runs. */
#include <relic/types.h>

struct libc_parameters {
    uint64_t size;
    uint64_t entries;
    uint64_t *heap_size;
    uint64_t more[3];
    const struct relic_malloc_replacement *malloc_replacement;
    uint64_t rest[14];
};

/* Null where the program has none. */
extern const struct relic_malloc_replacement relic_malloc_replacement __attribute__((weak, visibility("hidden")));

struct memory_parameters {
    uint64_t size;
    uint64_t rest[6];
};

struct process_parameters {
    uint64_t size;
    uint32_t magic;
    uint32_t entries;
    uint32_t companion_sdk;
    uint32_t sdk;
    const char *process_name;
    const char *thread_name;
    const uint32_t *thread_priority;
    const uint32_t *thread_stack;
    const struct libc_parameters *libc;
    const struct memory_parameters *memory;
    const void *files;
    const uint32_t *preload;
    uint64_t one;
};

/* All ones: no limit. */
static uint64_t heap_size = ~0ul;
static const uint32_t priority = 700, stack = 1 << 20, preload = 0;
static const struct libc_parameters libc = {sizeof libc, 13, &heap_size, {0}, &relic_malloc_replacement, {0}};
static const struct memory_parameters memory = {sizeof memory, {0}};

_Static_assert(sizeof(struct libc_parameters) == 0xa8, "size on the console");
_Static_assert(sizeof(struct memory_parameters) == 0x38, "size on the console");
_Static_assert(sizeof(struct process_parameters) == 0x60, "size on the console");

__attribute__((section(".data.sce_process_param"), used)) static const struct process_parameters parameters = {
    sizeof parameters, 0x4942524f, 5, 0x02000000, 0x02000000, "relic-guest", "main", &priority, &stack,
    &libc, &memory, 0, &preload, 1,
};
