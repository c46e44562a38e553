/* What SQLite uses and the console does not have. */
#include <errno.h>
#include <sys/types.h>

/* The console's programs have one user. */
uid_t geteuid(void) { return 0; }

int fchown(int file, uid_t user, gid_t group)
{
    (void)file, (void)user, (void)group;
    return 0;
}

/* There are no symbolic links to read. */
ssize_t readlink(const char *path, char *buffer, size_t size)
{
    (void)path, (void)buffer, (void)size;
    errno = EINVAL;
    return -1;
}
