/* Where the console enters a module: constructors, then the module's own module_start, with the loader's arguments. */
#include <relic/types.h>

typedef void constructor(void);

/* The ends of .ctors, from console.ld. */
extern constructor *relic_ctors_start[] __attribute__((visibility("hidden")));
extern constructor *relic_ctors_end[] __attribute__((visibility("hidden")));

__attribute__((weak, visibility("hidden"))) int module_start(size_t size, const void *arguments);
__attribute__((weak, visibility("hidden"))) int module_stop(size_t size, const void *arguments);

__attribute__((used, visibility("hidden"))) int relic_module_init(size_t size, const void *arguments)
{
    for (constructor **next = relic_ctors_end; next > relic_ctors_start;)
        (*--next)();
    return module_start ? module_start(size, arguments) : 0;
}

__attribute__((used, visibility("hidden"))) int relic_module_fini(size_t size, const void *arguments)
{
    return module_stop ? module_stop(size, arguments) : 0;
}
