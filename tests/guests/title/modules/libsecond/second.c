#include <relic/guest.h>

const char *second_words[2] = {"zero", "one"};
int *second_pointer = &first_counter;
static int (*const call)(int) = first_twice;

/* libfirst is initialised before this. */
__attribute__((constructor)) static void constructed(void) { first_note('2'); }

int second_call_first(int number) { return call(number) + 1; }
int second_total(void) { return first_tls + *second_pointer; }
