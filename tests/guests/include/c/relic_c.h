/* C's headers for programs that were not written for the kit: what each of them includes. Functions come from imports.txt,
 * constants are the console's (FreeBSD's). */
#ifndef RELIC_C_H
#define RELIC_C_H

#include <float.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <relic/guest.h>

typedef long off_t;
typedef long ssize_t;
typedef int pid_t;
typedef unsigned uid_t, gid_t;
typedef unsigned short mode_t;
typedef unsigned dev_t, ino_t;
typedef long clock_t;
typedef int sig_atomic_t;

#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : abort())
#endif

/* errno.h */
#define EPERM 1
#define ENOENT 2
#define EINTR 4
#define EIO 5
#define EBADF 9
#define EDEADLK 11
#define ENOMEM 12
#define EACCES 13
#define EBUSY 16
#define EEXIST 17
#define ENOTDIR 20
#define EISDIR 21
#define EINVAL 22
#define ENOSPC 28
#define EROFS 30
#define EDOM 33
#define ERANGE 34
#define EAGAIN 35
#define ETIMEDOUT 60
#define ENOLCK 77
#define EOVERFLOW 84

/* fcntl.h */
#define O_RDONLY 0
#define O_WRONLY 1
#define O_RDWR 2
#define O_NONBLOCK 4
#define O_APPEND 8
#define O_NOFOLLOW 0x100
#define O_CREAT 0x200
#define O_TRUNC 0x400
#define O_EXCL 0x800
#define O_CLOEXEC 0x100000
#define F_DUPFD 0
#define F_GETFD 1
#define F_SETFD 2
#define F_GETFL 3
#define F_SETFL 4
#define F_GETLK 11
#define F_SETLK 12
#define F_SETLKW 13
#define F_RDLCK 1
#define F_UNLCK 2
#define F_WRLCK 3
#define FD_CLOEXEC 1

struct flock {
    off_t l_start, l_len;
    pid_t l_pid;
    short l_type, l_whence;
    int l_sysid;
};

/* locale.h */
#define LC_ALL 0
#define LC_COLLATE 1
#define LC_CTYPE 2
#define LC_MONETARY 3
#define LC_NUMERIC 4
#define LC_TIME 5

/* math.h */
#define HUGE_VAL __builtin_huge_val()
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#define isfinite(x) __builtin_isfinite(x)
#define signbit(x) __builtin_signbit(x)

/* setjmp.h */
typedef jmp_buf sigjmp_buf;

/* signal.h */
#define SIG_DFL ((void (*)(int))0)
#define SIG_IGN ((void (*)(int))1)
#define SIG_ERR ((void (*)(int))-1)
#define SIGHUP 1
#define SIGINT 2
#define SIGABRT 6
#define SIGFPE 8
#define SIGBUS 10
#define SIGSEGV 11
#define SIGTERM 15

/* stdio.h */
#define EOF (-1)
#define BUFSIZ 1024
#define FILENAME_MAX 1024
#define L_tmpnam 1024
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#define _IOFBF 0
#define _IOLBF 1
#define _IONBF 2
#define stdin ((FILE *)_Stdin)
#define stdout ((FILE *)_Stdout)
#define stderr ((FILE *)_Stderr)

/* stdlib.h */
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 0x7fffffff

/* sys/stat.h */
#define S_IFMT 0170000
#define S_IFDIR 0040000
#define S_IFREG 0100000
#define S_IFLNK 0120000
#define S_ISDIR(mode) (((mode) & S_IFMT) == S_IFDIR)
#define S_ISREG(mode) (((mode) & S_IFMT) == S_IFREG)
#define S_ISLNK(mode) (((mode) & S_IFMT) == S_IFLNK)
#define S_IRWXU 0700
#define S_IRUSR 0400
#define S_IWUSR 0200
#define S_IXUSR 0100
#define S_IRWXG 0070
#define S_IRGRP 0040
#define S_IWGRP 0020
#define S_IRWXO 0007
#define S_IROTH 0004
#define S_IWOTH 0002
#define st_atime st_atim.tv_sec
#define st_mtime st_mtim.tv_sec
#define st_ctime st_ctim.tv_sec

/* time.h */
#define CLOCKS_PER_SEC 1000000

/* unistd.h */
#define R_OK 4
#define W_OK 2
#define X_OK 1
#define F_OK 0
#define STDIN_FILENO 0
#define STDOUT_FILENO 1
#define STDERR_FILENO 2

/* utime.h */
struct utimbuf {
    time_t actime, modtime;
};

/* What the console does not have: a program that uses one defines it in its console/platform.c. */
int system(const char *command);
int fchown(int file, uid_t user, gid_t group);
mode_t umask(mode_t mode);
int utime(const char *path, const struct utimbuf *times);
uid_t geteuid(void);
ssize_t readlink(const char *path, char *buffer, size_t size);

#endif
