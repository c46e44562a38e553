/* Two modules that the program needs, one of which needs the other, and one that it loads itself: functions, data,
 * thread-local data, pointers across modules, initialisers in order, and names that the system has too. */
#include <relic/guest.h>

int (*const table[])(int) = {first_twice, second_call_first};

static void *other_thread(void *argument)
{
    printf("thread: tls=%d own=%d\n", first_tls, first_next());
    first_tls = 50;
    printf("thread: tls=%d own=%d total=%d\n", first_tls, first_next(), second_total());
    return argument;
}

int main(void)
{
    printf("order: %s\n", first_log);
    printf("functions: %d %d\n", table[0](21), table[1](5));
    printf("data: %d %s\n", first_counter, second_words[1]);
    first_counter = 100;
    printf("data: %d %d\n", first_counter, first_get_counter());
    printf("pointer: %d\n", *second_pointer);
    printf("tls: %d %d %d\n", first_tls, first_next(), first_next());
    first_tls = 7;
    printf("tls: %d %d\n", first_tls, second_total());

    ScePthread thread;
    scePthreadCreate(&thread, NULL, other_thread, NULL, "other");
    scePthreadJoin(thread, NULL);
    printf("tls: %d %d\n", first_tls, first_next());

    /* The module's own strlen is not the system's. */
    printf("names: %zu %zu\n", strlen("four"), first_own_length("four"));

    struct { size_t size; int value; } arguments = {sizeof arguments, 17};
    int result = -1;
    int handle = sceKernelLoadStartModule("/app0/sce_module/libplug.prx", sizeof arguments, &arguments, 0, NULL, &result);
    printf("load: %d %d\n", handle > 0, result);
    int (*plug_add)(int, int);
    printf("dlsym: %d\n", sceKernelDlsym(handle, "plug_add", (void **)&plug_add));
    printf("plug: %d %d\n", plug_add(2, 3), first_counter);
    void *nothing;
    printf("no name: %d\n", sceKernelDlsym(handle, "plug_nothing", &nothing) != 0);
    int again = sceKernelLoadStartModule("/app0/sce_module/libplug.prx", 0, NULL, 0, NULL, &result);
    printf("again: %d\n", again == handle);
    printf("no file: %d\n", sceKernelLoadStartModule("/app0/sce_module/libnobody.prx", 0, NULL, 0, NULL, NULL) < 0);
    return 3;
}
