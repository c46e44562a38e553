/* What bzip2 uses and the console does not have. */
#include <sys/stat.h>
#include <utime.h>

/* The console's programs have one user. */
int fchown(int file, uid_t user, gid_t group)
{
    (void)file, (void)user, (void)group;
    return 0;
}

mode_t umask(mode_t mode)
{
    (void)mode;
    return 0;
}

int utime(const char *path, const struct utimbuf *times)
{
    struct timeval both[2] = {{times->actime, 0}, {times->modtime, 0}};
    return utimes(path, both);
}
