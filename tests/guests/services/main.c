/* Small libraries: random numbers, time, users, the system, the title's content. */
#include <relic/check.h>

#define CODE(number) ((int)(number))

static void random_numbers(void)
{
    unsigned char bytes[80] = {0};
    CHECK(sceRandomGetRandomNumber(bytes, 65), CODE(0x817c0016));
    CHECK(sceRandomGetRandomNumber(NULL, 1), CODE(0x817c0016));
    CHECK(sceRandomGetRandomNumber(bytes, 64), 0);
    int sum = 0;
    for (int i = 0; i < 64; i++)
        sum += bytes[i];
    CHECK(sum != 0, 1);
    CHECK(bytes[64], 0);
}

static void time_of_day(void)
{
    uint64_t now = 0, again = 0;
    uint16_t date[8];
    char text[64];
    CHECK(sceRtcGetCurrentTick(&now), 0);
    CHECK(sceRtcSetTick(date, &now), 0);
    CHECK(date[0] >= 2024, 1);
    CHECK(sceRtcGetTick(date, &again), 0);
    CHECK(again, now);
    CHECK(sceRtcFormatRFC3339(text, &now, 120), 0);
    CHECK(sceRtcParseRFC3339(&again, text), 0);
    CHECK(again, now / 10000 * 10000);
    CHECK(sceRtcParseRFC3339(&again, "today"), CODE(0x80b50007));
    date[1] = 13;
    CHECK(sceRtcGetTick(date, &again), CODE(0x80b50009));
}

static void users(void)
{
    int user = 0, list[4], event[2], colour = -1;
    char name[17];
    CHECK(sceUserServiceGetInitialUser(&user), CODE(0x80960002));
    CHECK(sceUserServiceGetEvent(event), CODE(0x80960002));
    CHECK(sceUserServiceInitialize(NULL), 0);
    CHECK(sceUserServiceInitialize(NULL), CODE(0x80960003));
    CHECK(sceUserServiceGetInitialUser(&user), 0);
    CHECK(user, 1);
    CHECK(sceUserServiceGetInitialUser(NULL), CODE(0x80960005));
    CHECK(sceUserServiceGetLoginUserIdList(list), 0);
    CHECK(list[0], user);
    CHECK(list[1] == -1 && list[2] == -1 && list[3] == -1, 1);
    CHECK(sceUserServiceGetEvent(NULL), CODE(0x80960005));
    CHECK(sceUserServiceGetEvent(event), 0);
    CHECK(event[0], 0);
    CHECK(event[1], user);
    CHECK(sceUserServiceGetEvent(event), CODE(0x80960007));
    CHECK(sceUserServiceGetUserName(user, name, sizeof name), 0);
    size_t length = strlen(name);
    CHECK(length > 0 && length <= 16, 1);
    CHECK(sceUserServiceGetUserName(user, name, length), CODE(0x8096000a));
    CHECK(sceUserServiceGetUserName(user, name, length + 1), 0);
    CHECK(sceUserServiceGetUserName(user, NULL, 17), CODE(0x80960005));
    CHECK(sceUserServiceGetUserName(7, name, sizeof name), CODE(0x80960009));
    CHECK(sceUserServiceGetUserName(-1, name, sizeof name), CODE(0x80960005));
    CHECK(sceUserServiceGetUserColor(user, &colour), 0);
    CHECK(colour, 0);
    CHECK(sceUserServiceGetUserColor(7, &colour), CODE(0x80960009));
    /* Begun anew, the login is told again. */
    CHECK(sceUserServiceTerminate(), 0);
    CHECK(sceUserServiceTerminate(), CODE(0x80960002));
    CHECK(sceUserServiceInitialize(NULL), 0);
    CHECK(sceUserServiceGetEvent(event), 0);
}

static void the_system(void)
{
    unsigned char status[16], event[9000];
    memset(status, 0xee, sizeof status);
    CHECK(sceSystemServiceHideSplashScreen(), 0);
    CHECK(sceSystemServiceGetStatus(NULL), CODE(0x80a10003));
    CHECK(sceSystemServiceGetStatus(status), 0);
    static const unsigned char expected[10] = {0, 0, 0, 0, 0, 0, 1, 0, 0, 0xee};
    CHECK(memcmp(status, expected, sizeof expected), 0);
    CHECK(sceSystemServiceReceiveEvent(event), CODE(0x80a10004));
    CHECK(sceSystemServiceReceiveEvent(NULL), CODE(0x80a10003));
    float area[33] = {0};
    CHECK(sceSystemServiceGetDisplaySafeAreaInfo(area), 0);
    CHECK(area[0] == 1.0f, 1);
    static const int known[][2] = {{1, 1}, {2, 1}, {3, 1}, {7, 0}, {1000, 1}};
    int value;
    for (int i = 0; i < 5; i++) {
        value = -1;
        CHECK(sceSystemServiceParamGetInt(known[i][0], &value), 0);
        CHECK(value, known[i][1]);
    }
    CHECK(sceSystemServiceParamGetInt(4, &value), 0);
    CHECK(value, 150);
    CHECK(sceSystemServiceParamGetInt(5, &value), 0);
    CHECK(value, 0);
    CHECK(sceSystemServiceParamGetInt(8, &value), CODE(0x80a10003));
    CHECK(sceSystemServiceParamGetInt(1, NULL), CODE(0x80a10003));
    char name[4];
    CHECK(sceSystemServiceParamGetString(6, name, sizeof name), 0);
    CHECK(strlen(name), 3);
    CHECK(sceSystemServiceParamGetString(1, name, sizeof name), CODE(0x80a10003));
}

static void content(void)
{
    char boot[40], point[16];
    int value = -1;
    CHECK(sceAppContentInitialize(NULL, boot), 0);
    CHECK(sceAppContentAppParamGetInt(0, &value), 0);
    CHECK(value, 3);
    CHECK(sceAppContentAppParamGetInt(2, &value), 0);
    CHECK(value, -77);
    CHECK(sceAppContentAppParamGetInt(3, &value), 0);
    CHECK(value, 0);
    CHECK(sceAppContentAppParamGetInt(5, &value), CODE(0x80d90002));

    CHECK(sceAppContentTemporaryDataMount2(0, point), 0);
    CHECK(strcmp(point, "/temp0"), 0);
    CHECK(sceAppContentTemporaryDataMount2(0, NULL), CODE(0x80d90002));
    CHECK(sceAppContentTemporaryDataMount2(2, point), CODE(0x80d90002));
    CHECK_SCE(sceKernelMkdir("/temp0/folder", 0777), 0);
    int file = sceKernelOpen("/temp0/folder/file", 0x202, 0666);
    CHECK(file >= 0, 1);
    CHECK(sceKernelClose(file), 0);
    size_t free = 0;
    CHECK(sceAppContentTemporaryDataGetAvailableSpaceKb(point, &free), 0);
    CHECK(free > 0 && free <= 1024 * 1024, 1);
    CHECK(sceAppContentTemporaryDataGetAvailableSpaceKb("/data", &free), CODE(0x80d90002));
    /* What is mounted stays, until it is emptied. */
    CHECK(sceAppContentTemporaryDataMount2(0, point), 0);
    file = sceKernelOpen("/temp0/folder/file", 0, 0);
    CHECK(file >= 0, 1);
    CHECK(sceKernelClose(file), 0);
    CHECK(sceAppContentTemporaryDataFormat("/app0"), CODE(0x80d90002));
    CHECK(sceAppContentTemporaryDataFormat(point), 0);
    CHECK_SCE(sceKernelOpen("/temp0/folder/file", 0, 0), E_NOENT);
    CHECK_SCE(sceKernelMkdir("/temp0/folder", 0777), 0);
    CHECK(sceAppContentTemporaryDataMount2(1, point), 0);
    CHECK_SCE(sceKernelOpen("/temp0/folder", 0, 0), E_NOENT);

    char label[20] = "NOTHING", info[24];
    unsigned count = 9;
    CHECK(sceAppContentGetAddcontInfoList(0, NULL, 0, &count), 0);
    CHECK(count, 0);
    CHECK(sceAppContentGetAddcontInfoList(0, NULL, 1, &count), CODE(0x80d90002));
    CHECK(sceAppContentGetAddcontInfo(0, label, info), CODE(0x80d90007));
}

int main(void)
{
    random_numbers();
    time_of_day();
    users();
    the_system();
    content();
    return relic_checked();
}
