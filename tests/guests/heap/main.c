/* A program whose parameters name an allocator of its own: all that the C library allocates for it comes from there. */
#include <relic/check.h>

static char pool[1 << 20] __attribute__((aligned(256)));
static size_t used;
static int initialised, allocations, frees;

static int initialise(void)
{
    initialised++;
    return 0;
}

static void *take(size_t alignment, size_t size)
{
    allocations++;
    size_t start = (used + 16 + alignment - 1) / alignment * alignment;
    if (start + size > sizeof pool)
        return NULL;
    used = start + size;
    *(size_t *)(pool + start - 8) = size;
    return pool + start;
}

static void *own_malloc(size_t size)
{
    /* A call from inside goes to the library's own heap. */
    void *inner = malloc(10);
    CHECK((char *)inner < pool || (char *)inner >= pool + sizeof pool, 1);
    CHECK((unsigned long)inner >> 40, 0);
    free(inner);
    return take(16, size);
}
static void own_free(void *memory) { frees += memory != NULL; }
static void *own_calloc(size_t count, size_t size) { return take(16, count * size); }
static void *own_memalign(size_t alignment, size_t size) { return take(alignment, size); }
static size_t own_usable_size(void *memory) { return *(size_t *)((char *)memory - 8); }

static void *own_reallocalign(void *memory, size_t size, size_t alignment)
{
    void *new = take(alignment, size);
    if (new && memory)
        memcpy(new, memory, size < own_usable_size(memory) ? size : own_usable_size(memory));
    return new;
}
static void *own_realloc(void *memory, size_t size) { return own_reallocalign(memory, size, 16); }

static int own_posix_memalign(void **memory, size_t alignment, size_t size)
{
    *memory = take(alignment, size);
    return *memory ? 0 : 12;
}

/* What the process parameters lead to, if a program has it. */
const struct relic_malloc_replacement relic_malloc_replacement = {
    sizeof relic_malloc_replacement, 2, initialise, NULL, own_malloc, own_free, own_calloc, own_realloc, own_memalign,
    own_reallocalign, own_posix_memalign, NULL, NULL, own_usable_size, NULL,
};

static int ours(const void *memory)
{
    return (const char *)memory >= pool && (const char *)memory < pool + sizeof pool;
}

int main(void)
{
    CHECK(initialised, 1);
    char *text = malloc(10);
    CHECK(ours(text), 1);
    CHECK(malloc_usable_size(text), 10);
    memcpy(text, "123456789", 10);
    text = realloc(text, 1000);
    CHECK(ours(text), 1);
    CHECK(strcmp(text, "123456789"), 0);
    char *copy = strdup(text);
    CHECK(ours(copy), 1);
    CHECK(strcmp(copy, "123456789"), 0);
    void *aligned = memalign(256, 10), *again = NULL;
    CHECK(ours(aligned) && (unsigned long)aligned % 256 == 0, 1);
    CHECK(posix_memalign(&again, 128, 10), 0);
    CHECK(ours(again) && (unsigned long)again % 128 == 0, 1);
    CHECK(posix_memalign(&again, 3, 10), E_INVAL);
    CHECK(ours(calloc(3, 4)), 1);
    CHECK(ours(reallocalign(NULL, 10, 64)), 1);
    int before = frees;
    free(copy);
    free(text);
    free(NULL);
    CHECK(frees, before + 2);
    CHECK(allocations > 6, 1);
    CHECK(malloc(2 << 20), 0);
    return relic_checked();
}
