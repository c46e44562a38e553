/* Streams and what stands around them in C's library: results, positions, and error numbers of the console. */
#include <relic/check.h>

static char buffer[256];

static void opening(void)
{
    CHECK(fopen("/data/none", "r"), 0);
    CHECK(errno, E_NOENT);
    CHECK(fopen("/data/file", "q"), 0);
    CHECK(errno, E_INVAL);
    CHECK(fopen("/app0/file", "w"), 0);
    CHECK(errno, E_ROFS);
    FILE *file = fopen("/data/file", "wx");
    CHECK(file != NULL, 1);
    CHECK(fileno(file), 3);
    CHECK(fputs("one\ntwo\nthree\n", file) >= 0, 1);
    errno = 0;
    CHECK(fgetc(file), -1);
    CHECK(ferror(file) != 0, 1);
    CHECK(fclose(file), 0);
    CHECK(fopen("/data/file", "wx"), 0);
    CHECK(errno, E_EXIST);
    CHECK_ERRNO(fclose(file), E_BADF);
    CHECK(fdopen(99, "r"), 0);
    CHECK(errno, E_BADF);
    int descriptor = open("/data/file", 0, 0);
    file = fdopen(descriptor, "r");
    CHECK(fileno(file), descriptor);
    CHECK(fclose(file), 0);
    CHECK_ERRNO(close(descriptor), E_BADF);
}

static void reading(void)
{
    FILE *file = fopen("/data/file", "r+b");
    fpos_t place;
    CHECK(fgets(buffer, sizeof buffer, file), buffer);
    CHECK(strcmp(buffer, "one\n"), 0);
    CHECK(ftell(file), 4);
    CHECK(fgetpos(file, &place), 0);
    CHECK(ungetc('X', file), 'X');
    CHECK(fgetc(file), 'X');
    CHECK(fgets(buffer, 3, file), buffer);
    CHECK(strcmp(buffer, "tw"), 0);
    CHECK(fsetpos(file, &place), 0);
    CHECK(fread(buffer, 3, 10, file), 3);
    CHECK(feof(file) != 0, 1);
    CHECK(ferror(file), 0);
    CHECK(fgetc(file), -1);
    clearerr(file);
    CHECK(feof(file), 0);
    CHECK(fseek(file, -6, 2), 0);
    CHECK(fread(buffer, 1, 5, file), 5);
    CHECK(memcmp(buffer, "three", 5), 0);
    CHECK_ERRNO(fseek(file, -100, 0), E_INVAL);
    /* Reading and writing in turn. */
    CHECK(fseek(file, 4, 0), 0);
    CHECK(fwrite("TWO", 1, 3, file), 3);
    CHECK(fseek(file, 0, 0), 0);
    CHECK(fread(buffer, 1, 14, file), 14);
    CHECK(memcmp(buffer, "one\nTWO\nthree\n", 14), 0);
    CHECK(setvbuf(file, NULL, 7, 0), -1);
    CHECK(fclose(file), 0);
    file = fopen("/data/file", "a+");
    CHECK(fprintf(file, "%s %d %5.2f|", "a", 5, 2.5) > 0, 1);
    CHECK(fclose(file), 0);
}

static void formats(void)
{
    int one = 0, two = 0, here = -1;
    char word[20] = "", set[20] = "";
    double number = 0;
    CHECK(sscanf("12 0x1f word abc123 2.5e1", "%d %i %19s %19[a-c]%n%*d %lf", &one, &two, word, set, &here, &number), 5);
    CHECK(one, 12);
    CHECK(two, 31);
    CHECK(strcmp(word, "word"), 0);
    CHECK(strcmp(set, "abc"), 0);
    CHECK(here, 16);
    CHECK(number == 25.0, 1);
    CHECK(sscanf("", "%d", &one), -1);
    CHECK(sscanf("x", "%d", &one), 0);
    CHECK(snprintf(buffer, sizeof buffer, "%2$s-%1$d%3$n", 7, "x", &here), 3);
    CHECK(strcmp(buffer, "x-7"), 0);
    FILE *file = tmpfile();
    CHECK(fprintf(file, "3 4 5"), 5);
    CHECK(fseek(file, 0, 0), 0);
    CHECK(fscanf(file, "%d%d", &one, &two), 2);
    CHECK(one * 10 + two, 34);
    CHECK(fclose(file), 0);
}

static int raised;
static void note(int number) { raised = number; }

static void others(void)
{
    /* A stream that is opened anew keeps its descriptor. */
    FILE *file = fopen("/data/file", "r");
    int descriptor = fileno(file);
    fgetc(file);
    FILE *second = fopen("/data/second", "w");
    fputs("second", second);
    fclose(second);
    CHECK(freopen("/data/second", "r", file), file);
    CHECK(fileno(file), descriptor);
    CHECK(fgets(buffer, sizeof buffer, file), buffer);
    CHECK(strcmp(buffer, "second"), 0);
    CHECK(fclose(file), 0);
    char name[32];
    CHECK(tmpnam(name), name);
    CHECK_ERRNO(access(name, 0), E_NOENT);
    CHECK(mkdir("/data/folder", 0777), 0);
    CHECK(remove("/data/folder"), 0);
    CHECK(remove("/data/second"), 0);
    CHECK_ERRNO(remove("/data/second"), E_NOENT);
    CHECK(strcmp(strerror(E_AGAIN), "Resource temporarily unavailable"), 0);
    CHECK(strcmp(strerror(E_NOTEMPTY), "Directory not empty"), 0);
    errno = 0;
    CHECK(strtol("99999999999999999999", NULL, 10), 0x7fffffffffffffff);
    CHECK(errno, E_RANGE);
    CHECK(strcpy_s(buffer, 3, "abc"), E_RANGE);
    CHECK(buffer[0], 0);
    unsigned short wide[8];
    CHECK(mbstowcs(wide, "h\xc3\xa9\xf0\x9f\x98\x80", 8), 4);
    CHECK(wcslen(wide), 4);
    CHECK(wide[1], 0xe9);
    CHECK(wide[2], 0xd83d);
    CHECK(setlocale(0, "de_DE"), 0);
    CHECK(strcmp(setlocale(0, NULL), "C"), 0);
    CHECK(signal(15, note), 0);
    CHECK(raise(15), 0);
    CHECK(raised, 15);
    CHECK(signal(15, (relic_signal_handler)1) == note, 1);
    CHECK(raise(15), 0);
    CHECK(signal(99, note), -1);
    CHECK(raise(28), 0);
    /* What a stream holds back comes behind what is written past it. */
    fputs("behind\n", (FILE *)_Stdout);
    CHECK(write(1, "before\n", 7), 7);
    CHECK(fflush(NULL), 0);
}

int main(void)
{
    opening();
    reading();
    formats();
    others();
    return relic_checked();
}
