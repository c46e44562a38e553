/* Types that the prototypes in imports.txt use. The same in the guest's and in the native build. */
#ifndef RELIC_TYPES_H
#define RELIC_TYPES_H

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

typedef __SIZE_TYPE__ size_t;
typedef __builtin_va_list va_list;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned long uintptr_t;

#define NULL ((void *)0)

/* Handles are pointers to objects of the system library. */
typedef struct relic_thread *ScePthread;
typedef struct relic_thread_attributes *ScePthreadAttr;
typedef struct relic_mutex *ScePthreadMutex;
typedef struct relic_mutex_attributes *ScePthreadMutexattr;
typedef struct relic_condition *ScePthreadCond;
typedef struct relic_condition_attributes *ScePthreadCondattr;

/* FreeBSD's structures. */
struct iovec {
    void *iov_base;
    size_t iov_len;
};

typedef long time_t;

struct timespec {
    time_t tv_sec;
    long tv_nsec;
};

struct timeval {
    time_t tv_sec;
    long tv_usec;
};

struct stat {
    uint32_t st_dev, st_ino;
    uint16_t st_mode, st_nlink;
    uint32_t st_uid, st_gid, st_rdev;
    struct timespec st_atim, st_mtim, st_ctim;
    int64_t st_size, st_blocks;
    uint32_t st_blksize, st_flags, st_gen;
    int32_t st_lspare;
    struct timespec st_birthtim;
};

_Static_assert(sizeof(struct stat) == 120, "size on the console");

/* As long as its name needs. */
struct dirent {
    uint32_t d_fileno;
    uint16_t d_reclen;
    uint8_t d_type, d_namlen;
    char d_name[256];
};

/* What C's library adds. */
typedef struct relic_stream FILE;
typedef long fpos_t;
typedef long jmp_buf[16];
typedef void (*relic_signal_handler)(int);
typedef struct {
    int quot, rem;
} div_t;
typedef struct {
    long quot, rem;
} ldiv_t;

struct tm {
    int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst;
    long tm_gmtoff;
    const char *tm_zone;
};

struct lconv {
    char *decimal_point, *thousands_sep, *grouping, *int_curr_symbol, *currency_symbol, *mon_decimal_point;
    char *mon_thousands_sep, *mon_grouping, *positive_sign, *negative_sign;
    char numbers[14];
};

/* What a wait on an event queue returns. */
struct kernel_event {
    uint64_t ident;
    int16_t filter;
    uint16_t flags;
    uint32_t filter_flags;
    int64_t data;
    uint64_t user_data;
};

/* A title's own allocator, in place of the C library's: a program that defines one has it in its process parameters. */
struct relic_malloc_replacement {
    uint64_t size, version;
    int (*initialise)(void);
    int (*finalise)(void);
    void *(*malloc)(size_t size);
    void (*free)(void *memory);
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *memory, size_t size);
    void *(*memalign)(size_t alignment, size_t size);
    void *(*reallocalign)(void *memory, size_t size, size_t alignment);
    int (*posix_memalign)(void **memory, size_t alignment, size_t size);
    void (*statistics)(void);
    void (*fast_statistics)(void);
    size_t (*usable_size)(void *memory);
    void *more;
};

_Static_assert(sizeof(struct relic_malloc_replacement) == 0x78, "size on the console");

#ifndef __cplusplus
extern const struct relic_malloc_replacement relic_malloc_replacement;
#endif

#define SCE_PTHREAD_MUTEX_ERRORCHECK 1
#define SCE_PTHREAD_MUTEX_RECURSIVE 2
#define SCE_PTHREAD_MUTEX_NORMAL 3

#define SCE_KERNEL_ERROR_EPERM 0x80020001u
#define SCE_KERNEL_ERROR_EBUSY 0x80020010u
#define SCE_KERNEL_ERROR_ETIMEDOUT 0x8002003cu

#endif
