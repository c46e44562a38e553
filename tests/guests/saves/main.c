/* Saves: mounted, written, committed, found again, removed. With the argument "crash", the program ends by a fault while a
 * save is mounted for writing; without, it finds what was committed before that. */
#include <relic/check.h>

#define CODE(number) ((int)(number))
enum {
    PARAMETER = CODE(0x809f0000), NOT_INITIALISED = CODE(0x809f0001), BUSY = CODE(0x809f0003),
    NOT_MOUNTED = CODE(0x809f0004), EXISTS = CODE(0x809f0007), NOT_FOUND = CODE(0x809f0008),
    BAD_MOUNTED = CODE(0x809f000d), INVALID_USER = CODE(0x809f0011), NOT_READY = CODE(0x809f0012),
};
enum { READ_ONLY = 1, READ_WRITE = 2, CREATE = 4, CREATE_OR_OPEN = 32 };
enum { USER = 1 };

struct mount2 { int user, pad; const char *name; uint64_t blocks; unsigned mode; char reserved[36]; };
struct mount3 { int user, pad; const char *name; uint64_t blocks, system_blocks; unsigned mode, pad2; int resource; char reserved[36]; };
struct result { char point[16]; uint64_t required; unsigned unused, status; char reserved[32]; };
struct param { char title[128], subtitle[128], detail[1024]; unsigned user_param, pad; int64_t time; char reserved[32]; };
struct icon { void *buffer; size_t capacity, length; char reserved[32]; };
struct condition { int user, pad; const char *title, *name; unsigned key, order; char reserved[32]; };
struct info { uint64_t blocks, free; char reserved[32]; };
struct found { unsigned hits, pad; char (*names)[32]; unsigned capacity, stored; struct param *params; struct info *infos; char reserved[16]; };
struct removal { int user, pad; const char *title, *name; unsigned unused; char reserved[36]; };
struct memory { void *buffer; size_t size; int64_t offset; char reserved[40]; };
struct access { int user, pad; struct memory *data; struct param *param; struct icon *icon; char reserved[32]; };
struct setup { unsigned option; int user; size_t size, icon_size; const struct param *param; const struct icon *icon; char reserved[24]; };

static struct result result;

static int mount(const char *text, unsigned mode)
{
    char name[32] = {0};
    snprintf(name, sizeof name, "%s", text);
    struct mount2 mount = {.user = USER, .name = name, .blocks = 96, .mode = mode};
    memset(&result, 0, sizeof result);
    return sceSaveDataMount2(&mount, &result);
}

static void write_file(const char *path, const char *text)
{
    int file = sceKernelOpen(path, 0x601, 0666);
    CHECK(file >= 0, 1);
    CHECK(sceKernelWrite(file, text, strlen(text)), strlen(text));
    CHECK(sceKernelClose(file), 0);
}

static void expect_file(const char *path, const char *text)
{
    char found[64] = {0};
    int file = sceKernelOpen(path, 0, 0);
    CHECK(file >= 0, 1);
    CHECK(sceKernelRead(file, found, sizeof found - 1), strlen(text));
    CHECK(strcmp(found, text), 0);
    CHECK(sceKernelClose(file), 0);
}

static int crash(void)
{
    CHECK(sceSaveDataInitialize3(NULL), 0);
    CHECK(mount("SAVE00", READ_WRITE | CREATE), 0);
    write_file("/savedata0/state", "one");
    CHECK(sceSaveDataUmount(result.point), 0);
    CHECK(mount("SAVE00", READ_WRITE), 0);
    write_file("/savedata0/state", "two, never committed");
    CHECK(mount("FRESH", READ_WRITE | CREATE), 0);
    write_file("/savedata1/state", "never committed");
    if (relic_failures)
        return relic_checked();
    puts("ready");
    *(volatile int *)16 = 1;
    return 0;
}

static void errors(void)
{
    CHECK(mount("SAVE00", READ_ONLY), NOT_INITIALISED);
    CHECK(sceSaveDataUmount("/savedata0"), NOT_INITIALISED);
    CHECK(sceSaveDataTerminate(), NOT_INITIALISED);
    CHECK(sceSaveDataInitialize3(NULL), 0);
    CHECK(mount("NONE", READ_ONLY), NOT_FOUND);
    CHECK(mount("NONE", READ_WRITE), NOT_FOUND);
    CHECK(mount("../up", READ_WRITE | CREATE), PARAMETER);
    CHECK(mount("", READ_WRITE | CREATE), PARAMETER);
    CHECK(mount("NONE", READ_WRITE | CREATE | CREATE_OR_OPEN), PARAMETER);
    CHECK(mount("NONE", 64), PARAMETER);
    CHECK(mount("SAVE00", READ_WRITE | CREATE), EXISTS);
    struct mount2 stranger = {.user = 5, .name = "NONE", .mode = READ_ONLY};
    CHECK(sceSaveDataMount2(&stranger, &result), INVALID_USER);
    CHECK(sceSaveDataMount2(NULL, &result), PARAMETER);
    CHECK(sceSaveDataUmount("/savedata3"), NOT_MOUNTED);
    CHECK(sceSaveDataUmount("/app0"), NOT_MOUNTED);
    CHECK(sceSaveDataUmount(NULL), PARAMETER);
}

/* What the other run committed is there; what it did not is not. */
static void after_the_crash(void)
{
    CHECK(mount("FRESH", READ_ONLY), NOT_FOUND);
    CHECK(mount("SAVE00", READ_ONLY), 0);
    CHECK(strcmp(result.point, "/savedata0"), 0);
    CHECK(result.status, 0);
    expect_file("/savedata0/state", "one");
    CHECK_SCE(sceKernelOpen("/savedata0/new", 0x602, 0666), E_ROFS);
    CHECK(sceSaveDataSetParam("/savedata0", 1, "title", 6), BAD_MOUNTED);
    CHECK(mount("SAVE00", READ_ONLY), BUSY);
    CHECK(sceSaveDataUmount("/savedata0"), 0);
    CHECK_SCE(sceKernelOpen("/savedata0/state", 0, 0), E_NOENT);
}

static void parameters(void)
{
    struct param param;
    char text[1024];
    size_t got = 0;
    unsigned number = 0x12345678;
    char picture[100], read[60] = {0};
    memset(picture, 'p', sizeof picture);
    struct icon icon = {.buffer = picture, .capacity = sizeof picture, .length = sizeof picture};
    CHECK(mount("PARAM", READ_WRITE | CREATE_OR_OPEN), 0);
    CHECK(result.status, 1);
    const char *point = result.point;
    CHECK(sceSaveDataSetParam(point, 1, "A title", 8), 0);
    CHECK(sceSaveDataSetParam(point, 2, "A subtitle that goes on", 10), 0);
    CHECK(sceSaveDataSetParam(point, 3, "detail", 7), 0);
    CHECK(sceSaveDataSetParam(point, 4, &number, 4), 0);
    CHECK(sceSaveDataSetParam(point, 4, &number, 3), PARAMETER);
    CHECK(sceSaveDataSetParam(point, 5, &number, 8), PARAMETER);
    CHECK(sceSaveDataSetParam(point, 1, NULL, 8), PARAMETER);
    CHECK(sceSaveDataSaveIcon(point, &icon), 0);
    CHECK(sceSaveDataUmount(point), 0);

    CHECK(mount("PARAM", READ_ONLY), 0);
    CHECK(result.status, 0);
    CHECK(sceSaveDataGetParam(point, 0, &param, sizeof param, &got), 0);
    CHECK(got, 1328);
    CHECK(strcmp(param.title, "A title"), 0);
    CHECK(strcmp(param.subtitle, "A subtitle"), 0);
    CHECK(strcmp(param.detail, "detail"), 0);
    CHECK(param.user_param, number);
    CHECK(param.time > 1600000000, 1);
    CHECK(sceSaveDataGetParam(point, 1, text, sizeof text, &got), 0);
    CHECK(got, 8);
    CHECK(strcmp(text, "A title"), 0);
    CHECK(sceSaveDataGetParam(point, 1, text, 7, &got), PARAMETER);
    CHECK(sceSaveDataGetParam(point, 9, text, sizeof text, &got), PARAMETER);
    icon = (struct icon){.buffer = read, .capacity = sizeof read};
    CHECK(sceSaveDataLoadIcon(point, &icon), 0);
    CHECK(icon.length, 100);
    CHECK(memcmp(read, picture, sizeof read), 0);
    CHECK(sceSaveDataSaveIcon(point, &icon), BAD_MOUNTED);
    struct info info;
    CHECK(sceSaveDataGetMountInfo(point, &info), 0);
    CHECK(info.blocks, 96);
    CHECK(info.free, 95);
    CHECK(sceSaveDataUmount(point), 0);
    CHECK(mount("SAVE00", READ_ONLY), 0);
    CHECK(sceSaveDataLoadIcon(point, &icon), NOT_FOUND);
    CHECK(sceSaveDataUmount(point), 0);
}

/* Mounted for reading, written between a preparation and a commit. */
static void transactions(void)
{
    char name[32] = "THIRD";
    int transaction = sceSaveDataCreateTransactionResource(0);
    CHECK(transaction > 0, 1);
    struct mount3 request = {.user = USER, .name = name, .blocks = 96, .mode = READ_ONLY | CREATE, .resource = transaction};
    CHECK(sceSaveDataMount3(&request, &result), 0);
    CHECK(result.status, 1);
    CHECK_SCE(sceKernelOpen("/savedata0/state", 0x602, 0666), E_ROFS);
    uint64_t parameters[8] = {(uint64_t)transaction};
    CHECK(sceSaveDataPrepare(result.point, NULL), PARAMETER);
    CHECK(sceSaveDataPrepare("/savedata9", parameters), NOT_MOUNTED);
    CHECK(sceSaveDataPrepare(result.point, parameters), 0);
    write_file("/savedata0/state", "committed");
    CHECK(sceSaveDataCommit(parameters), 0);
    write_file("/savedata0/state", "unmounted");
    CHECK(sceSaveDataUmount2(0, result.point), 0);
    request.mode = READ_ONLY;
    CHECK(sceSaveDataMount3(&request, &result), 0);
    expect_file("/savedata0/state", "unmounted");
    CHECK(sceSaveDataUmount2(0, result.point), 0);
    CHECK(sceSaveDataDeleteTransactionResource(transaction), 0);
    CHECK(sceSaveDataDeleteTransactionResource(transaction), PARAMETER);
}

static void search_and_delete(void)
{
    static char names[4][32];
    static struct param params[4];
    static struct info infos[4];
    struct condition condition = {.user = USER};
    struct found found = {.names = names, .capacity = 4, .params = params, .infos = infos};
    CHECK(sceSaveDataDirNameSearch(&condition, &found), 0);
    CHECK(found.hits, 3);
    CHECK(found.stored, 3);
    CHECK(strcmp(names[0], "PARAM"), 0);
    CHECK(strcmp(names[1], "SAVE00"), 0);
    CHECK(strcmp(names[2], "THIRD"), 0);
    CHECK(strcmp(params[0].title, "A title"), 0);
    CHECK(infos[0].blocks, 96);
    char pattern[32] = "%R%";
    condition.name = pattern;
    condition.order = 1;
    found.capacity = 1;
    CHECK(sceSaveDataDirNameSearch(&condition, &found), 0);
    CHECK(found.hits, 2);
    CHECK(found.stored, 1);
    CHECK(strcmp(names[0], "THIRD"), 0);
    condition.key = 4;
    CHECK(sceSaveDataDirNameSearch(&condition, &found), PARAMETER);

    char name[32] = "THIRD";
    struct removal removal = {.user = USER, .name = name};
    CHECK(mount("THIRD", READ_ONLY), 0);
    CHECK(sceSaveDataDelete(&removal), BUSY);
    CHECK(sceSaveDataUmount(result.point), 0);
    CHECK(sceSaveDataDelete(&removal), 0);
    CHECK(sceSaveDataDelete(&removal), NOT_FOUND);
    CHECK(mount("THIRD", READ_ONLY), NOT_FOUND);
}

static void memory(void)
{
    uint64_t existed[3] = {99};
    char bytes[8] = "abcdefg", read[8] = {0};
    struct param param = {.title = "memory", .user_param = 5}, read_param;
    struct memory data = {.buffer = bytes, .size = 8, .offset = 1000};
    struct access access = {.user = USER, .data = &data};
    struct setup setup = {.user = USER, .size = 1004, .param = &param};
    CHECK(sceSaveDataSetSaveDataMemory2(&access), NOT_READY);
    CHECK(sceSaveDataSetupSaveDataMemory2(&setup, existed), 0);
    CHECK(existed[0], 0);
    CHECK(sceSaveDataSetSaveDataMemory2(&access), PARAMETER);
    data.offset = 996;
    CHECK(sceSaveDataSetSaveDataMemory2(&access), 0);
    data.offset = -1;
    CHECK(sceSaveDataSetSaveDataMemory2(&access), PARAMETER);
    setup.size = 2000;
    CHECK(sceSaveDataSetupSaveDataMemory2(&setup, existed), 0);
    CHECK(existed[0], 1004);
    data = (struct memory){.buffer = read, .size = 8, .offset = 996};
    access.param = &read_param;
    CHECK(sceSaveDataGetSaveDataMemory2(&access), 0);
    CHECK(memcmp(read, bytes, 8), 0);
    CHECK(strcmp(read_param.title, "memory"), 0);
    CHECK(read_param.user_param, 5);
    int sync[10] = {USER};
    CHECK(sceSaveDataSyncSaveDataMemory(sync), 0);
    sync[1] = 2;
    CHECK(sceSaveDataSyncSaveDataMemory(sync), NOT_READY);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "crash") == 0)
        return crash();
    errors();
    after_the_crash();
    parameters();
    transactions();
    search_and_delete();
    memory();
    /* Mounted to the end: the end commits. */
    CHECK(mount("LAST", READ_WRITE | CREATE), 0);
    write_file("/savedata0/state", "ended");
    return relic_checked();
}
