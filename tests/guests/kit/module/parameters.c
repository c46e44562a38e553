/* The module parameter block. */
#include <relic/types.h>

struct module_parameters {
    uint64_t size;
    uint32_t magic;
    uint32_t version;
    uint32_t companion_sdk;
    uint32_t sdk;
    uint64_t flag;
};

_Static_assert(sizeof(struct module_parameters) == 0x20, "size on the console");

/* In the section that console.ld puts where a program has its process parameters. */
__attribute__((section(".data.sce_process_param"), used)) static const struct module_parameters parameters = {
    sizeof parameters, 0x3c13f4bf, 3, 0x02000000, 0x02000000, 1,
};

/* Every console module has a data segment, which lld leaves out where it is empty. */
__attribute__((used)) static uint64_t data = 1;
