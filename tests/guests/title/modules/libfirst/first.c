#include <relic/guest.h>

char first_log[64];
int first_counter = 11;
__thread int first_tls = 40;
static _Thread_local int own = 3;
static _Thread_local char large[5000];

void first_note(char what) { first_log[strlen(first_log)] = what; }

__attribute__((constructor)) static void constructed(void) { first_note('1'); }

int first_twice(int number) { return 2 * number; }
int first_get_counter(void) { return first_counter; }
int first_next(void) { return ++own + large[4999]++; }

/* The module's own definition under the name of a system function, for itself alone. */
#ifdef RELIC_NATIVE
static size_t own_length(const char *text) { return text ? 1000 : 0; }
#else
RELIC_EXPORT size_t own_length(const char *text) __asm__("j4ViWNHEgww#A#A");
size_t own_length(const char *text) { return text ? 1000 : 0; }
#endif
size_t first_own_length(const char *text) { return own_length(text); }
