/* Files and directories, by the kernel's calls and their POSIX twins. The test that runs this makes the folders:
 * /app0 holds Data/Level1.BIN ("level one"), hello.txt ("hello\n"), the links inside -> hello.txt, outside -> ../secret
 * and folder -> .. ; /data, /temp0 and /download0 are empty. */
#include <relic/check.h>

enum {
    RDONLY = 0, WRONLY = 1, RDWR = 2, NONBLOCK = 4, APPEND = 8, NOFOLLOW = 0x100, CREAT = 0x200, TRUNC = 0x400,
    EXCL = 0x800, DIRECTORY = 0x20000,
};

static char buffer[4096];

static int same(const char *text, long size)
{
    return size == (long)strlen(text) && memcmp(buffer, text, strlen(text)) == 0;
}

/* The whole of a file in the buffer; its size or an error. */
static long slurp(const char *path)
{
    int file = sceKernelOpen(path, RDONLY, 0);
    if (file < 0)
        return file;
    long size = sceKernelRead(file, buffer, sizeof buffer);
    CHECK(sceKernelClose(file), 0);
    return size;
}

static void write_file(const char *path, const char *text)
{
    int file = sceKernelOpen(path, WRONLY | CREAT | TRUNC, 0600);
    CHECK(file >= 0, 1);
    CHECK(sceKernelWrite(file, text, strlen(text)), strlen(text));
    CHECK(sceKernelClose(file), 0);
}

static void read_only_application(void)
{
    CHECK(same("hello\n", slurp("/app0/hello.txt")), 1);
    CHECK(same("hello\n", slurp("hello.txt")), 1);
    CHECK(same("hello\n", slurp("\\app0\\hello.txt")), 1);
    CHECK(same("hello\n", slurp("/hostapp/./Data/../hello.txt")), 1);
    /* Other spellings are found; the right one first. */
    CHECK(same("level one", slurp("/app0/Data/Level1.BIN")), 1);
    CHECK(same("level one", slurp("/app0/data/level1.bin")), 1);
    CHECK(same("level one", slurp("/app0/DATA/LEVEL1.bin")), 1);
    CHECK_SCE(slurp("/app0/data/level2.bin"), E_NOENT);
    CHECK_SCE(sceKernelOpen("/app0/hello.txt", RDWR, 0), E_ROFS);
    CHECK_SCE(sceKernelOpen("/app0/hello.txt", TRUNC, 0), E_ROFS);
    CHECK_SCE(sceKernelOpen("/app0/new", WRONLY | CREAT, 0666), E_ROFS);
    CHECK_SCE(sceKernelUnlink("/app0/hello.txt"), E_ROFS);
    CHECK_SCE(sceKernelMkdir("/app0/made", 0777), E_ROFS);
    CHECK_SCE(sceKernelMkdir("/app0/Data", 0777), E_EXIST);
    CHECK_SCE(sceKernelRename("/app0/hello.txt", "/data/hello.txt"), E_ROFS);
    CHECK_SCE(sceKernelTruncate("/app0/hello.txt", 0), E_ROFS);
    CHECK_SCE(sceKernelChmod("/app0/hello.txt", 0777), E_ROFS);
    struct stat status;
    CHECK_SCE(sceKernelStat("/app0/hello.txt", &status), 0);
    CHECK(status.st_mode & 0222, 0);
    CHECK(status.st_size, 6);
}

static void no_way_out(void)
{
    CHECK(same("hello\n", slurp("/app0/inside")), 1);
    CHECK(same("hello\n", slurp("/app0/../../app0/../hello.txt")), 1);
    CHECK_SCE(slurp("/app0/../secret"), E_NOENT);
    CHECK_SCE(slurp("/app0/outside"), E_ACCES);
    CHECK_SCE(slurp("/app0/folder/secret"), E_ACCES);
    CHECK_SCE(sceKernelOpen("/app0/inside", NOFOLLOW, 0), E_LOOP);
    CHECK_SCE(slurp("/etc/passwd"), E_NOENT);
    CHECK_SCE(slurp("/proc/self/maps"), E_NOENT);
    CHECK_SCE(slurp("/dev/mem"), E_NOENT);
    CHECK_SCE(slurp("/savedata0/x"), E_NOENT);
    CHECK_SCE(slurp("/"), E_ACCES);
    CHECK_SCE(slurp(""), E_NOENT);
    char name[1100];
    memset(name, 'n', sizeof name);
    memcpy(name, "/data/", 6);
    name[sizeof name - 1] = 0;
    CHECK_SCE(slurp(name), E_NAMETOOLONG);
    name[300] = 0;
    CHECK_SCE(slurp(name), E_NAMETOOLONG);
    CHECK_SCE(sceKernelOpen(NULL, RDONLY, 0), E_FAULT);
}

static void opening(void)
{
    int file = sceKernelOpen("/data/one", RDWR | CREAT | EXCL, 0);
    CHECK(file, 3);
    CHECK_SCE(sceKernelOpen("/data/one", RDWR | CREAT | EXCL, 0666), E_EXIST);
    /* The lowest free number. */
    int second = sceKernelOpen("/data/one", RDONLY, 0);
    CHECK(second, 4);
    CHECK_SCE(sceKernelClose(file), 0);
    CHECK_SCE(sceKernelClose(file), E_BADF);
    CHECK(sceKernelOpen("/data/ONE", RDONLY, 0), 3);
    CHECK_SCE(sceKernelClose(3), 0);
    CHECK_SCE(sceKernelClose(second), 0);
    CHECK_SCE(sceKernelClose(-1), E_BADF);
    CHECK_SCE(sceKernelOpen("/data/none", RDONLY, 0), E_NOENT);
    CHECK_SCE(sceKernelOpen("/data/none/deeper", WRONLY | CREAT, 0666), E_NOENT);
    CHECK_SCE(sceKernelOpen("/data/one/deeper", RDONLY, 0), E_NOTDIR);
    CHECK_SCE(sceKernelOpen("/data/one/", RDONLY, 0), E_NOTDIR);
    CHECK_SCE(sceKernelOpen("/data/one", RDONLY | DIRECTORY, 0), E_NOTDIR);
    CHECK_SCE(sceKernelOpen("/data", RDWR, 0), E_ISDIR);
    CHECK_SCE(sceKernelOpen("/data/one", 3, 0), E_INVAL);
    CHECK_SCE(sceKernelOpen("/data/one", 0x2000, 0), E_INVAL);
    CHECK_SCE(sceKernelCheckReachability("/data/one"), 0);
    CHECK_SCE(sceKernelCheckReachability("/data/none"), E_NOENT);
    /* A program may always use what it made, whatever the mode was. */
    CHECK(same("", slurp("/data/one")), 1);
    CHECK_ERRNO(open("/data/none", RDONLY, 0), E_NOENT);
    CHECK_ERRNO(close(77), E_BADF);
    CHECK_ERRNO(open("/app0/new", WRONLY | CREAT, 0666), E_ROFS);
    CHECK(slurp("/dev/null"), 0);
    int urandom = sceKernelOpen("/dev/urandom", RDONLY, 0);
    CHECK(sceKernelRead(urandom, buffer, 64), 64);
    sceKernelClose(urandom);
}

static void reading_and_writing(void)
{
    int file = sceKernelOpen("/data/bytes", RDWR | CREAT | TRUNC, 0666);
    CHECK(sceKernelWrite(file, "0123456789", 10), 10);
    CHECK(sceKernelLseek(file, 0, 1), 10);
    CHECK(sceKernelLseek(file, -4, 2), 6);
    CHECK(sceKernelRead(file, buffer, 100), 4);
    CHECK(memcmp(buffer, "6789", 4), 0);
    CHECK(sceKernelRead(file, buffer, 100), 0);
    CHECK_SCE(sceKernelLseek(file, -1, 0), E_INVAL);
    CHECK_SCE(sceKernelLseek(file, 0, 9), E_INVAL);
    CHECK(sceKernelPread(file, buffer, 3, 2), 3);
    CHECK(memcmp(buffer, "234", 3), 0);
    CHECK(sceKernelPwrite(file, "XY", 2, 12), 2);
    CHECK(sceKernelLseek(file, 0, 1), 10);
    CHECK(sceKernelPread(file, buffer, 100, 8), 6);
    CHECK(memcmp(buffer, "89\0\0XY", 6), 0);
    CHECK_SCE(sceKernelPread(file, buffer, 1, -1), E_INVAL);
    CHECK_SCE(sceKernelRead(file, buffer, 1ul << 40), E_INVAL);
    CHECK(sceKernelPread(file, (void *)16, 4, 0), (int)0x8002000e);
    char a[3], b[20];
    struct iovec vectors[2] = {{a, 3}, {b, 20}};
    CHECK(sceKernelPreadv(file, vectors, 2, 0), 14);
    CHECK(memcmp(a, "012", 3) || memcmp(b, "3456789\0\0XY", 11), 0);
    CHECK(sceKernelLseek(file, 1, 0), 1);
    CHECK(sceKernelReadv(file, vectors, 1), 3);
    CHECK(memcmp(a, "123", 3), 0);
    vectors[0] = (struct iovec){"ab", 2};
    vectors[1] = (struct iovec){"cde", 3};
    CHECK(sceKernelWritev(file, vectors, 2), 5);
    CHECK(sceKernelPwritev(file, vectors + 1, 1, 0), 3);
    CHECK_SCE(sceKernelReadv(file, vectors, 0), E_INVAL);
    CHECK_SCE(sceKernelReadv(file, vectors, -1), E_INVAL);
    CHECK_SCE(sceKernelReadv(file, vectors, 1025), E_INVAL);
    CHECK_SCE(sceKernelFtruncate(file, 9), 0);
    CHECK_SCE(sceKernelFtruncate(file, -1), E_INVAL);
    CHECK_SCE(sceKernelFsync(file), 0);
    CHECK_SCE(sceKernelClose(file), 0);
    CHECK(same("cde3abcde", slurp("/data/bytes")), 1);
    CHECK_SCE(sceKernelTruncate("/data/bytes", 4), 0);
    CHECK(same("cde3", slurp("/data/bytes")), 1);
    CHECK_SCE(sceKernelTruncate("/data", 4), E_ISDIR);
    file = sceKernelOpen("/data/bytes", WRONLY | APPEND, 0);
    CHECK_SCE(sceKernelRead(file, buffer, 1), E_BADF);
    CHECK(sceKernelWrite(file, "end", 3), 3);
    CHECK_SCE(sceKernelClose(file), 0);
    CHECK(same("cde3end", slurp("/data/bytes")), 1);
    CHECK_SCE(sceKernelRead(file, buffer, 1), E_BADF);
    CHECK_ERRNO(read(file, buffer, 1), E_BADF);
    CHECK_ERRNO(lseek(1000, 0, 0), E_BADF);
    CHECK_SCE(sceKernelSync(), 0);
}

static void what_is_known(void)
{
    struct stat status, other;
    memset(&status, 0xee, sizeof status);
    CHECK_SCE(sceKernelStat("/data/bytes", &status), 0);
    CHECK(status.st_mode & 0170000, 0100000);
    CHECK(status.st_mode & 0600, 0600);
    CHECK(status.st_size, 7);
    CHECK(status.st_nlink, 1);
    CHECK(status.st_uid | status.st_gid | status.st_flags | status.st_gen | status.st_lspare, 0);
    CHECK(status.st_mtim.tv_sec > 1600000000, 1);
    CHECK(status.st_mtim.tv_nsec >= 0 && status.st_mtim.tv_nsec < 1000000000, 1);
    int file = open("/data/bytes", RDONLY, 0);
    CHECK(fstat(file, &other), 0);
    CHECK(memcmp(&status, &other, sizeof status), 0);
    CHECK(close(file), 0);
    CHECK_SCE(sceKernelStat("/data", &status), 0);
    CHECK(status.st_mode & 0170000, 0040000);
    CHECK_SCE(sceKernelStat("/app0/inside", &status), 0);
    CHECK(status.st_mode & 0170000, 0100000);
    CHECK(lstat("/app0/inside", &status), 0);
    CHECK(status.st_mode & 0170000, 0120000);
    CHECK_SCE(sceKernelStat("/app0/outside", &status), E_ACCES);
    CHECK_SCE(sceKernelStat("/data/none", &status), E_NOENT);
    CHECK_SCE(sceKernelStat("/data/bytes", NULL), E_FAULT);
    CHECK_SCE(sceKernelFstat(1000, &status), E_BADF);
    CHECK_ERRNO(stat("/data/none", &status), E_NOENT);
    CHECK_SCE(sceKernelFstat(1, &status), 0);
    long times[4] = {1000000000, 5, 1200000000, 250000};
    CHECK_SCE(sceKernelUtimes("/data/bytes", times), 0);
    CHECK_SCE(sceKernelStat("/data/bytes", &status), 0);
    CHECK(status.st_atim.tv_sec, 1000000000);
    CHECK(status.st_mtim.tv_sec, 1200000000);
    CHECK(status.st_mtim.tv_nsec, 250000000);
    CHECK(access("/data/bytes", 0), 0);
    CHECK(access("/data/bytes", 6), 0);
    CHECK_ERRNO(access("/data/bytes", 1), E_ACCES);
    CHECK_ERRNO(access("/app0/hello.txt", 2), E_ROFS);
    CHECK_ERRNO(access("/data/none", 0), E_NOENT);
    CHECK_ERRNO(access("/data/bytes", 8), E_INVAL);
    errno = 0;
    CHECK(isatty(1), 0);
    CHECK(errno, E_NOTTY);
}

static void directories(void)
{
    CHECK_SCE(sceKernelMkdir("/data/folder", 0), 0);
    CHECK_SCE(sceKernelMkdir("/data/folder", 0777), E_EXIST);
    CHECK_SCE(sceKernelMkdir("/data/none/folder", 0777), E_NOENT);
    CHECK_SCE(sceKernelMkdir("/data", 0777), E_EXIST);
    CHECK_SCE(sceKernelMkdir("/data/folder/sub/", 0777), 0);
    write_file("/data/folder/b", "b");
    write_file("/data/FOLDER/a long name of a file", "a");
    CHECK_SCE(sceKernelRmdir("/data/folder"), E_NOTEMPTY);
    CHECK_SCE(sceKernelRmdir("/data/folder/b"), E_NOTDIR);
    CHECK_SCE(sceKernelUnlink("/data/folder/sub"), E_PERM);
    CHECK_SCE(sceKernelRmdir("/data"), E_BUSY);

    static const char *const names[] = {".", "..", "a long name of a file", "b", "sub"};
    static const int kinds[] = {4, 4, 8, 8, 4};
    int folder = sceKernelOpen("/data/folder", RDONLY | DIRECTORY, 0);
    char small[64];
    long base = -1, before = 0;
    int index = 0, size;
    /* Several calls: each gives whole records. */
    while ((size = sceKernelGetdirentries(folder, small, sizeof small, &base)) > 0) {
        CHECK(base, before);
        before += size;
        for (int at = 0; at < size;) {
            const struct dirent *entry = (const struct dirent *)(small + at);
            CHECK(index < 5, 1);
            CHECK(strcmp(entry->d_name, names[index]), 0);
            CHECK(entry->d_namlen, strlen(names[index]));
            CHECK(entry->d_type, kinds[index]);
            CHECK(entry->d_reclen % 4, 0);
            CHECK(entry->d_fileno != 0, 1);
            at += entry->d_reclen;
            index++;
        }
    }
    CHECK(size, 0);
    CHECK(index, 5);
    CHECK(sceKernelLseek(folder, 0, 0), 0);
    CHECK_SCE(sceKernelGetdents(folder, small, 8), E_INVAL);
    CHECK(sceKernelGetdents(folder, buffer, sizeof buffer), before);
    CHECK(sceKernelGetdents(folder, buffer, sizeof buffer), 0);
    CHECK_SCE(sceKernelGetdents(folder, NULL, 100), E_FAULT);
    CHECK_SCE(sceKernelRead(folder, buffer, 1), E_ISDIR);
    sceKernelClose(folder);
    CHECK_SCE(sceKernelGetdents(folder, buffer, 100), E_BADF);
    int file = open("/data/folder/b", RDONLY, 0);
    CHECK_SCE(sceKernelGetdents(file, buffer, 100), E_INVAL);
    close(file);

    CHECK_SCE(sceKernelRename("/data/folder/b", "/data/folder/sub/c"), 0);
    CHECK_SCE(sceKernelCheckReachability("/data/folder/b"), E_NOENT);
    CHECK(same("b", slurp("/data/folder/sub/c")), 1);
    write_file("/data/folder/d", "d");
    CHECK_SCE(sceKernelRename("/data/folder/d", "/data/folder/sub/c"), 0);
    CHECK(same("d", slurp("/data/folder/sub/c")), 1);
    CHECK_SCE(sceKernelRename("/data/folder/sub/c", "/temp0/c"), E_XDEV);
    CHECK_SCE(sceKernelRename("/data/folder/none", "/data/x"), E_NOENT);
    CHECK_ERRNO(rename("/data/folder", "/data/folder/sub/x"), E_INVAL);
    CHECK_SCE(sceKernelUnlink("/data/folder/SUB/C"), 0);
    CHECK(rmdir("/data/folder/sub"), 0);
    CHECK(unlink("/data/folder/a long name of a file"), 0);
    CHECK_ERRNO(unlink("/data/folder/none"), E_NOENT);
    CHECK(rmdir("/data/folder"), 0);
    CHECK_ERRNO(rmdir("/data/folder"), E_NOENT);
    CHECK(mkdir("/download0/made", 0700), 0);
    CHECK(rmdir("/download0/made"), 0);
    CHECK(strcmp(getcwd(buffer, sizeof buffer), "/app0"), 0);
}

static void duplicates_and_flags(void)
{
    int file = open("/data/bytes", RDWR, 0);
    int copy = dup(file);
    CHECK(copy, file + 1);
    CHECK(lseek(file, 3, 0), 3);
    CHECK(lseek(copy, 0, 1), 3);
    CHECK(dup2(file, 20), 20);
    CHECK(fcntl(file, 0, 20), 21);
    CHECK(close(file), 0);
    CHECK(read(copy, buffer, 1), 1);
    CHECK(lseek(20, 0, 1), 4);
    CHECK(dup2(copy, copy), copy);
    CHECK_ERRNO(dup(1000), E_BADF);
    CHECK_ERRNO(dup2(1000, 5), E_BADF);
    CHECK_ERRNO(dup2(20, -1), E_BADF);
    CHECK(fcntl(20, 3, 0), RDWR);
    CHECK(fcntl(20, 4, APPEND | NONBLOCK), 0);
    CHECK(fcntl(copy, 3, 0), RDWR | APPEND | NONBLOCK);
    CHECK(write(20, "+", 1), 1);
    CHECK(fcntl(20, 4, 0), 0);
    CHECK_ERRNO(fcntl(20, 99, 0), E_INVAL);
    CHECK_SCE(sceKernelFcntl(1000, 3, 0), E_BADF);
    int other = open("/data/bytes", RDONLY, 0);
    CHECK(flock(20, 2), 0);
    CHECK_ERRNO(flock(other, 2 | 4), E_AGAIN);
    CHECK(flock(20, 8), 0);
    CHECK(flock(other, 1 | 4), 0);
    close(other);
    close(copy);
    close(20);
    close(21);
    CHECK(same("cde3end+", slurp("/data/bytes")), 1);
    /* Many at once, and none left behind. */
    int last = 0;
    for (int i = 0; i < 300; i++)
        last = open("/data/bytes", RDONLY, 0);
    CHECK(last, 302);
    for (int i = 3; i <= last; i++)
        CHECK(close(i), 0);
}

int main(void)
{
    read_only_application();
    no_way_out();
    opening();
    reading_and_writing();
    what_is_known();
    directories();
    duplicates_and_flags();
    return relic_checked();
}
