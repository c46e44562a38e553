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

/* A range of memory. */
typedef struct {
    void *start;
    size_t size;
} SceKernelIovec;

typedef struct {
    long seconds, nanoseconds;
} SceKernelTimespec;

/* What is known about a file. */
typedef struct {
    uint32_t device, inode;
    uint16_t mode, links;
    uint32_t user, group, special;
    SceKernelTimespec accessed, modified, changed;
    int64_t size, blocks;
    uint32_t block_size, flags, generation;
    int32_t spare;
    SceKernelTimespec born;
} SceKernelStat;

_Static_assert(sizeof(SceKernelStat) == 120, "size on the console");

/* An entry of a directory; as long as its name needs. */
typedef struct {
    uint32_t inode;
    uint16_t size;
    uint8_t kind, length;
    char name[256];
} SceKernelDirent;

#define SCE_PTHREAD_MUTEX_ERRORCHECK 1
#define SCE_PTHREAD_MUTEX_RECURSIVE 2
#define SCE_PTHREAD_MUTEX_NORMAL 3

#define SCE_KERNEL_ERROR_EPERM 0x80020001u
#define SCE_KERNEL_ERROR_EBUSY 0x80020010u
#define SCE_KERNEL_ERROR_ETIMEDOUT 0x8002003cu

#endif
