/* The console's functions in terms of the host's, for native builds of guest programs and for the stand-in runtime.
 * Only what the guests in this folder use; the runtime library has the real ones. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* FreeBSD's numbers where Linux has others. */
static int sce_error(int host)
{
    switch (host) {
    case 0: return 0;
    case EAGAIN: return (int)0x80020023u;
    case EDEADLK: return (int)0x8002000bu;
    case ETIMEDOUT: return (int)0x8002003cu;
    default: return (int)(0x80020000u | (unsigned)host);
    }
}

int *__error(void) { return &errno; }

int sceKernelUsleep(unsigned microseconds) { return usleep(microseconds) == 0 ? 0 : sce_error(errno); }

unsigned long sceKernelGetProcessTime(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (unsigned long)now.tv_sec * 1000000 + (unsigned long)now.tv_nsec / 1000;
}

void *sceKernelGetProcParam(void) { return NULL; }

/* A module is a shared library beside the program here. */
static void *module_handles[16];

int sceKernelLoadStartModule(const char *path, size_t size, const void *arguments, unsigned flags, const void *options, int *result)
{
    (void)flags, (void)options;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    char file[256];
    snprintf(file, sizeof file, "%.*s.so", (int)strcspn(name, "."), name);
    void *loaded = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
    void *handle = loaded ? loaded : dlopen(file, RTLD_NOW);
    if (!handle)
        return sce_error(ENOENT);
    int (*start)(size_t, const void *) = (int (*)(size_t, const void *))dlsym(handle, "module_start");
    if (!loaded && result)
        *result = start ? start(size, arguments) : 0;
    int place = 0;
    while (module_handles[place] && module_handles[place] != handle)
        place++;
    module_handles[place] = handle;
    return place + 1;
}

int sceKernelStopUnloadModule(int handle, size_t size, const void *arguments, unsigned flags, const void *options, int *result)
{
    (void)flags, (void)options;
    void *module = module_handles[handle - 1];
    int (*stop)(size_t, const void *) = (int (*)(size_t, const void *))dlsym(module, "module_stop");
    int returned = stop ? stop(size, arguments) : 0;
    if (result)
        *result = returned;
    dlclose(module);
    return 0;
}

int sceKernelDlsym(int handle, const char *name, void **address)
{
    *address = dlsym(module_handles[handle - 1], name);
    return *address ? 0 : sce_error(ESRCH);
}

int scePthreadCreate(pthread_t *thread, const void *attributes, void *(*entry)(void *), void *argument, const char *name)
{
    (void)attributes, (void)name;
    return sce_error(pthread_create(thread, NULL, entry, argument));
}
int scePthreadJoin(pthread_t thread, void **result) { return sce_error(pthread_join(thread, result)); }
pthread_t scePthreadSelf(void) { return pthread_self(); }
int scePthreadEqual(pthread_t one, pthread_t other) { return pthread_equal(one, other); }
void scePthreadYield(void) { sched_yield(); }

/* The console's default mutex checks for errors. */
int scePthreadMutexattrInit(pthread_mutexattr_t **attributes)
{
    *attributes = malloc(sizeof **attributes);
    pthread_mutexattr_init(*attributes);
    return sce_error(pthread_mutexattr_settype(*attributes, PTHREAD_MUTEX_ERRORCHECK));
}
int scePthreadMutexattrSettype(pthread_mutexattr_t **attributes, int type)
{
    static const int host[] = {0, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_NORMAL};
    if (type < 1 || type > 4)
        return sce_error(EINVAL);
    return sce_error(pthread_mutexattr_settype(*attributes, host[type]));
}
int scePthreadMutexattrDestroy(pthread_mutexattr_t **attributes)
{
    free(*attributes);
    return 0;
}
int scePthreadMutexInit(pthread_mutex_t **mutex, pthread_mutexattr_t *const *attributes, const char *name)
{
    (void)name;
    pthread_mutexattr_t *own = NULL;
    if (!attributes)
        scePthreadMutexattrInit(&own);
    *mutex = malloc(sizeof **mutex);
    int result = pthread_mutex_init(*mutex, attributes ? *attributes : own);
    free(own);
    return sce_error(result);
}
int scePthreadMutexLock(pthread_mutex_t **mutex) { return sce_error(pthread_mutex_lock(*mutex)); }
int scePthreadMutexTrylock(pthread_mutex_t **mutex) { return sce_error(pthread_mutex_trylock(*mutex)); }
int scePthreadMutexUnlock(pthread_mutex_t **mutex) { return sce_error(pthread_mutex_unlock(*mutex)); }
int scePthreadMutexDestroy(pthread_mutex_t **mutex)
{
    int result = pthread_mutex_destroy(*mutex);
    free(*mutex);
    *mutex = NULL;
    return sce_error(result);
}

int scePthreadCondInit(pthread_cond_t **condition, const void *attributes, const char *name)
{
    (void)attributes, (void)name;
    *condition = malloc(sizeof **condition);
    return sce_error(pthread_cond_init(*condition, NULL));
}
int scePthreadCondWait(pthread_cond_t **condition, pthread_mutex_t **mutex)
{
    return sce_error(pthread_cond_wait(*condition, *mutex));
}
int scePthreadCondTimedwait(pthread_cond_t **condition, pthread_mutex_t **mutex, unsigned microseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    unsigned long nanoseconds = (unsigned long)until.tv_nsec + microseconds * 1000ul;
    until.tv_sec += (time_t)(nanoseconds / 1000000000);
    until.tv_nsec = (long)(nanoseconds % 1000000000);
    return sce_error(pthread_cond_timedwait(*condition, *mutex, &until));
}
int scePthreadCondSignal(pthread_cond_t **condition) { return sce_error(pthread_cond_signal(*condition)); }
int scePthreadCondBroadcast(pthread_cond_t **condition) { return sce_error(pthread_cond_broadcast(*condition)); }
int scePthreadCondDestroy(pthread_cond_t **condition)
{
    int result = pthread_cond_destroy(*condition);
    free(*condition);
    *condition = NULL;
    return sce_error(result);
}
