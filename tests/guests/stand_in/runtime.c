/* A runtime library for tests of the relinker: the smallest that keeps the contract of core/src/program.rs. It binds
 * nothing but traps; the imports themselves are in the generated forwards. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct program_info {
    char magic[8];
    int64_t image_base, entry, process_parameters, imports, sites, strings, traps;
    uint32_t import_count, site_count;
    int64_t protected_slots;
    uint64_t protected_size;
    int64_t modules, dependencies;
    uint32_t module_count, dependency_count;
    int64_t lifecycle[5];
    uint32_t counts[4];
};

struct import_record {
    char nid[11];
    uint8_t kind;
    uint32_t library, name, first_site, site_count;
};

struct import_site {
    uint64_t address;
    int64_t addend;
};

_Static_assert(sizeof(struct program_info) == 168, "contract");
_Static_assert(sizeof(struct import_record) == 28, "contract");

enum { FUNCTION, OBJECT, WEAK };
enum { EXIT_CONTRACT = 111, EXIT_DATA = 112, EXIT_TRAP = 113 };

static const char *base;
static const struct program_info *program;

static const struct import_record *record(uint32_t index)
{
    return (const struct import_record *)(base + program->imports) + index;
}

static void say(const char *what, const struct import_record *import)
{
    const char *strings = base + program->strings;
    fflush(stdout);
    fprintf(stderr, "%s %s %.11s %s\n", what, strings + import->library, import->nid, strings + import->name);
}

static void protect(int protection)
{
    if (program->protected_size != 0
        && mprotect((void *)(base + program->protected_slots), program->protected_size, protection) != 0) {
        perror("mprotect");
        _exit(EXIT_CONTRACT);
    }
}

EXPORT __attribute__((noreturn)) void relic_start(const uintptr_t *stack, const struct program_info *info)
{
    base = (const char *)info;
    program = info;
    if (memcmp(info->magic, "RELICPG2", 8) != 0)
        _exit(EXIT_CONTRACT);
    if (info->process_parameters != 0 && memcmp(base + info->process_parameters + 8, "ORBI", 4) != 0)
        _exit(EXIT_CONTRACT);

    const struct import_site *sites = (const struct import_site *)(base + info->sites);
    int refused = 0, trapped = 0;
    for (uint32_t i = 0; i < info->import_count; i++) {
        const struct import_record *import = record(i);
        int missing = 0;
        for (uint32_t s = 0; s < import->site_count; s++) {
            const struct import_site *site = &sites[import->first_site + s];
            uintptr_t *slot = (uintptr_t *)(base + info->image_base + site->address);
            if (*slot != (uintptr_t)site->addend)
                continue;
            missing = 1;
            if (import->kind == FUNCTION) {
                if (!trapped)
                    protect(PROT_READ | PROT_WRITE);
                trapped = 1;
                *slot = (uintptr_t)(base + info->traps) + 16 * i + (uintptr_t)site->addend;
            }
        }
        if (missing)
            say(import->kind == FUNCTION ? "missing function" : import->kind == OBJECT ? "missing data" : "absent", import);
        refused |= missing && import->kind == OBJECT;
    }
    if (trapped)
        protect(PROT_READ);
    if (refused)
        _exit(EXIT_DATA);

    /* Both ABIs put the arguments' count at the stack pointer and in the block that the first argument points at. */
    void (*entry)(const uintptr_t *, void (*)(void)) = (void (*)(const uintptr_t *, void (*)(void)))(base + info->entry);
    entry(stack, NULL);
    _exit(EXIT_CONTRACT);
}

__attribute__((used, noreturn)) static void report_trap(uint32_t index)
{
    say("called", record(index));
    _exit(EXIT_TRAP);
}

/* The stub has pushed the import's index above the caller's return address. */
EXPORT __attribute__((naked)) void relic_trap(void)
{
    __asm__("popq %rdi\n\tandq $-16, %rsp\n\tcall report_trap");
}
