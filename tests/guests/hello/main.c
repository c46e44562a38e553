/* One thread, the C library, and everything that an executable format can carry: constructors, thread-local data,
 * relocated pointers, zeroed data, data imports, an exit code. */
#include <relic/guest.h>

static volatile int constructor_ran;
__attribute__((constructor)) static void run_first(void) { constructor_ran = 7; }

_Thread_local int initialised = 42;
_Thread_local long zeroed[3];

static const char *const words[] = {"relocated", "pointers"};
static volatile char large[100000];

static void last(void) { printf("at exit\n"); }

int main(int argc, char **argv)
{
    printf("hello from %s, argc=%d\n", __progname, argc);
    for (int i = 1; i < argc; i++)
        printf("argv[%d]=%s\n", i, argv[i]);
    printf("constructor=%d tls=%d,%ld,%ld\n", constructor_ran, initialised, ++zeroed[1], zeroed[2]);

    printf("%5d|%-5d|%05d|%+d|%x|%X|%#o|%c|%%\n", 42, 42, 42, 42, 0xbeefu, 0xbeefu, 8, 'z');
    printf("%ld|%lld|%llu|%zu|%hhd|%hu\n", -1l, 1ll << 40, ~0ull, sizeof large, 300, 65537);
    printf("%s|%10s|%-10s|%.3s|%*d|%.*s\n", words[0], words[1], "left", "truncated", 6, 7, 2, "abc");
    printf("%f|%.2f|%10.3f|%e|%g|%g|%.0f\n", 3.25, -1.005, 2.0 / 3.0, 12345.678, 0.0001, 1e20, 2.5);
    printf("%d %d %d %d %d %d %f %d %f\n", 1, 2, 3, 4, 5, 6, 7.5, 8, 9.5);
    printf("%f %f %f %f %f %f %f %f %f %f\n", .5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5);

    char text[32];
    int length = snprintf(text, sizeof text, "%s-%04d", "cut", 12);
    printf("%s %d %zu\n", text, length, strlen(text));
    length = snprintf(text, 4, "%s", "longer than four");
    printf("%s %d\n", text, length);

    unsigned char *memory = malloc(1000);
    memset(memory, 0xa5, 1000);
    memory = realloc(memory, 5000);
    unsigned sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += memory[i];
    free(memory);
    int *zeros = calloc(10, sizeof *zeros);
    printf("memory %u %d %d\n", sum, zeros[0] | zeros[9], large[99999]);
    free(zeros);

    struct { int a[64]; } one = {{1, 2, 3}}, other = one;
    large[0] = (char)(memcmp(&one, &other, sizeof one) == 0);
    memmove(text + 1, "xyz", 4);
    text[0] = '_';
    printf("copies %d %s %d\n", large[0], text, strcmp(text, "_xyz"));

    errno = 3;
    printf("errno=%d\n", errno);
    atexit(last);
    return 5;
}
