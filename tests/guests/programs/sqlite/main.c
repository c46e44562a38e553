/* Runs a file of SQL on a database, and prints every row. */
#include <stdio.h>
#include <stdlib.h>

#include "sqlite3.h"

static int row(void *unused, int columns, char **values, char **names)
{
    (void)unused, (void)names;
    for (int i = 0; i < columns; i++)
        printf("%s%s", i ? "|" : "", values[i] ? values[i] : "NULL");
    putchar('\n');
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    FILE *script = fopen(argv[2], "rb");
    if (!script) {
        perror(argv[2]);
        return 2;
    }
    fseek(script, 0, SEEK_END);
    long size = ftell(script);
    rewind(script);
    char *text = malloc(size + 1);
    text[fread(text, 1, size, script)] = 0;
    fclose(script);

    sqlite3 *database;
    int result = sqlite3_open(argv[1], &database);
    char *message = NULL;
    if (result == SQLITE_OK)
        result = sqlite3_exec(database, text, row, NULL, &message);
    if (result != SQLITE_OK)
        printf("error %d: %s\n", result, message ? message : sqlite3_errmsg(database));
    sqlite3_free(message);
    sqlite3_close(database);
    free(text);
    return result != SQLITE_OK;
}
