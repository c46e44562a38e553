/* The four functions that a compiler calls of its own accord, under their plain names, which are no imports.
 * Built with -fno-builtin, so that no loop here becomes a call of itself. */
typedef __SIZE_TYPE__ size_t;

void *memcpy(void *to, const void *from, size_t size)
{
    char *t = to;
    for (const char *f = from; size; size--)
        *t++ = *f++;
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    char *t = to;
    const char *f = from;
    if (t <= f)
        return memcpy(to, from, size);
    while (size--)
        t[size] = f[size];
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    for (char *t = to; size; size--)
        *t++ = (char)byte;
    return to;
}

int memcmp(const void *one, const void *other, size_t size)
{
    const unsigned char *a = one, *b = other;
    for (; size; size--, a++, b++)
        if (*a != *b)
            return *a - *b;
    return 0;
}
