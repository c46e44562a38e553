/* Types that the prototypes in imports.txt use. The same in the guest's and in the native build. */
#ifndef RELIC_TYPES_H
#define RELIC_TYPES_H

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

#define SCE_PTHREAD_MUTEX_ERRORCHECK 1
#define SCE_PTHREAD_MUTEX_RECURSIVE 2
#define SCE_PTHREAD_MUTEX_NORMAL 3

#define SCE_KERNEL_ERROR_EPERM 0x80020001u
#define SCE_KERNEL_ERROR_EBUSY 0x80020010u
#define SCE_KERNEL_ERROR_ETIMEDOUT 0x8002003cu

#endif
