/* What Lua uses and the console does not have. */

/* There is no command processor. */
int system(const char *command)
{
    (void)command;
    return 0;
}
