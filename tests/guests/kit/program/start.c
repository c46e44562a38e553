/* Where the console enters a program: constructors, main, exit. */
#include <relic/guest.h>

/* The block that the first argument points at. */
struct start_block {
    int count;
    int padding;
    char *arguments[];
};

typedef void constructor(void);

/* The ends of .ctors, from console.ld. */
extern constructor *relic_ctors_start[] __attribute__((visibility("hidden")));
extern constructor *relic_ctors_end[] __attribute__((visibility("hidden")));

int main(int argc, char **argv);

/* The console enters as by a call, the OS loader of a PC as by a jump: hence the realignment. */
__attribute__((force_align_arg_pointer, used, section(".text.start"))) void
_start(struct start_block *block, void (*at_exit)(void))
{
    if (at_exit)
        atexit(at_exit);
    /* .ctors runs backwards, as it always has. */
    for (constructor **next = relic_ctors_end; next > relic_ctors_start;)
        (*--next)();
    exit(main(block->count, block->arguments));
}
