/* The one header of a guest program: every function of imports.txt, and the types they use.
 *
 * The guest build gives each import its NID as its symbol's name. The native build (RELIC_NATIVE) leaves the names
 * alone, so that the C library and native/shim.c answer them. */
#ifndef RELIC_GUEST_H
#define RELIC_GUEST_H

#include <relic/types.h>

#ifdef RELIC_NATIVE
#define RELIC_IMPORT(symbol)
#define RELIC_EXPORT
#else
#define RELIC_IMPORT(symbol) __asm__(symbol)
#define RELIC_EXPORT __declspec(dllexport)
#endif

#ifdef __cplusplus
extern "C" {
#ifndef RELIC_NATIVE
/* Freestanding C++ has no special name for it. */
int main(int argc, char **argv);
#endif
#endif

/* Made from imports.txt, and from the exports.txt of the guest's modules, by the kit. */
#include "relic_imports.h"

#ifdef __cplusplus
}
#endif

#define errno (*__error())

#endif
