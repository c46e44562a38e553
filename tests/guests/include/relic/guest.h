/* The one header of a guest program: every function of imports.txt, and the types they use.
 *
 * The guest build gives each import its NID as its symbol's name. The native build (RELIC_NATIVE) leaves the names
 * alone, so that the C library and native/shim.c answer them. */
#ifndef RELIC_GUEST_H
#define RELIC_GUEST_H

#include <relic/types.h>

#ifdef RELIC_NATIVE
#define RELIC_IMPORT(symbol)
#else
#define RELIC_IMPORT(symbol) __asm__(symbol)
#endif

/* Made from imports.txt by the kit. */
#include "relic_imports.h"

#define errno (*__error())

#endif
