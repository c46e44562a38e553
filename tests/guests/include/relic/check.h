/* Checks of conformance guests: what differs is printed; the program's exit code says whether anything did. */
#ifndef RELIC_CHECK_H
#define RELIC_CHECK_H

#include <relic/guest.h>

static int relic_checks, relic_failures;

static inline void relic_check(const char *what, long found, long expected, int line)
{
    __atomic_fetch_add(&relic_checks, 1, __ATOMIC_RELAXED);
    if (found == expected)
        return;
    __atomic_fetch_add(&relic_failures, 1, __ATOMIC_RELAXED);
    printf("line %d: %s is %ld (0x%lx), expected %ld (0x%lx)\n", line, what, found, found, expected, expected);
}

/* That two integers or pointers are equal. */
#define CHECK(found, expected) relic_check(#found, (long)(found), (long)(expected), __LINE__)
/* That a kernel call answers with an error number, or 0. */
#define CHECK_SCE(found, number) \
    relic_check(#found, (int)(found), (number) ? (int)(0x80020000u | (number)) : 0, __LINE__)
/* That a POSIX call fails with an error number. */
#define CHECK_ERRNO(found, number) \
    do { \
        errno = 0; \
        relic_check(#found, (long)(found), -1, __LINE__); \
        relic_check("errno of " #found, errno, (number), __LINE__); \
    } while (0)

/* Prints the sum; the program's exit code. */
static inline int relic_checked(void)
{
    printf("%d checks, %d failures\n", relic_checks, relic_failures);
    return relic_failures != 0;
}

/* FreeBSD's error numbers. */
enum {
    E_PERM = 1, E_NOENT = 2, E_SRCH = 3, E_BADF = 9, E_DEADLK = 11, E_NOMEM = 12, E_ACCES = 13, E_FAULT = 14,
    E_BUSY = 16, E_EXIST = 17, E_XDEV = 18, E_NOTDIR = 20, E_ISDIR = 21, E_INVAL = 22, E_MFILE = 24, E_NOTTY = 25,
    E_ROFS = 30, E_RANGE = 34, E_AGAIN = 35, E_TIMEDOUT = 60, E_LOOP = 62, E_NAMETOOLONG = 63, E_NOTEMPTY = 66,
    E_OVERFLOW = 84, E_CANCELED = 85,
};

#endif
