/* The controller, played by a script; sound, into wave files; message dialogs, which answer themselves. */
#include <relic/check.h>

#define CODE(number) ((int)(number))
enum { USER = 1 };

struct pad {
    uint32_t buttons;
    uint8_t left[2], right[2], triggers[2], padding[2];
    float orientation[4], acceleration[3], velocity[3];
    uint8_t touches[24], connected;
    uint64_t time;
    uint8_t extension[16], connections, reserved[3], unique[12];
};
_Static_assert(sizeof(struct pad) == 120, "size on the console");

static void controller(void)
{
    struct pad pad[2];
    uint8_t motors[2] = {255, 0}, colour[4] = {0, 0, 255, 0};
    CHECK(scePadOpen(USER, 0, 0, NULL), CODE(0x80920005));
    CHECK(scePadInit(), 0);
    CHECK(scePadInit(), 0);
    CHECK(scePadGetHandle(USER, 0, 0), CODE(0x80920008));
    CHECK(scePadOpen(7, 0, 0, NULL), CODE(0x80920008));
    CHECK(scePadOpen(USER, 9, 0, NULL), CODE(0x80920002));
    CHECK(scePadOpen(USER, 0, 1, NULL), CODE(0x80920001));
    int handle = scePadOpen(USER, 0, 0, NULL);
    CHECK(handle > 0, 1);
    CHECK(scePadOpen(USER, 0, 0, NULL), CODE(0x80920004));
    CHECK(scePadGetHandle(USER, 0, 0), handle);
    CHECK(scePadReadState(handle + 1, pad), CODE(0x80920003));
    CHECK(scePadReadState(handle, NULL), CODE(0x80920001));
    CHECK(scePadRead(handle, pad, 0), CODE(0x80920001));
    CHECK(scePadRead(handle, pad, 65), CODE(0x80920001));

    /* The script: two reads of cross and up, one with sticks and triggers, then rest. */
    memset(pad, 0xee, sizeof pad);
    for (int i = 0; i < 2; i++) {
        CHECK(scePadReadState(handle, pad), 0);
        CHECK(pad->buttons, 0x4010);
        CHECK(pad->left[0] == 128 && pad->left[1] == 128, 1);
        CHECK(pad->connected, 1);
        CHECK(pad->connections, 1);
        CHECK(pad->touches[0], 0);
    }
    CHECK(scePadRead(handle, pad, 64), 1);
    CHECK(pad->buttons, 0x100);
    CHECK(pad->left[0] == 0 && pad->left[1] == 255 && pad->right[0] == 128, 1);
    CHECK(pad->triggers[0] == 255 && pad->triggers[1] == 0, 1);
    uint64_t before = pad->time;
    CHECK(scePadReadState(handle, pad), 0);
    CHECK(pad->buttons, 0);
    CHECK(pad->left[0] == 128 && pad->triggers[0] == 0, 1);
    CHECK(pad->time >= before, 1);

    uint8_t information[28];
    CHECK(scePadGetControllerInformation(handle, information), 0);
    CHECK(information[12], 1);
    CHECK(scePadGetControllerInformation(handle, NULL), CODE(0x80920001));
    CHECK(scePadSetVibration(handle, motors), 0);
    CHECK(scePadSetVibration(handle, NULL), CODE(0x80920001));
    CHECK(scePadSetLightBar(handle, colour), 0);
    CHECK(scePadClose(handle), 0);
    CHECK(scePadClose(handle), CODE(0x80920003));
}

static void sound(void)
{
    static int16_t stereo[256 * 2];
    static float mono[512];
    int volumes[8] = {32768, 16384};
    struct { uint16_t output; uint8_t channels, reserved; int16_t volume; uint16_t reroutes; uint64_t more[3]; } state;
    struct { int handle; const void *samples; } both[2];
    CHECK(sceAudioOutOpen(USER, 0, 0, 256, 48000, 1), CODE(0x8026000f));
    CHECK(sceAudioOutInit(), 0);
    CHECK(sceAudioOutInit(), CODE(0x8026000e));
    CHECK(sceAudioOutOpen(USER, 9, 0, 256, 48000, 1), CODE(0x8026000a));
    CHECK(sceAudioOutOpen(USER, 0, 0, 100, 48000, 1), CODE(0x80260006));
    CHECK(sceAudioOutOpen(USER, 0, 0, 2304, 48000, 1), CODE(0x80260006));
    CHECK(sceAudioOutOpen(USER, 0, 0, 256, 44100, 1), CODE(0x80260008));
    CHECK(sceAudioOutOpen(USER, 0, 0, 256, 48000, 8), CODE(0x80260007));
    CHECK(sceAudioOutOutput(1, stereo), CODE(0x80260001));
    CHECK(sceAudioOutOutput(99, stereo), CODE(0x80260003));
    int first = sceAudioOutOpen(USER, 0, 0, 256, 48000, 1);
    int second = sceAudioOutOpen(USER, 1, 0, 512, 48000, 3);
    CHECK(first > 0 && second > first, 1);
    CHECK(sceAudioOutSetVolume(first, 0x100, volumes), CODE(0x80260013));
    volumes[2] = 32769;
    CHECK(sceAudioOutSetVolume(first, 7, volumes), CODE(0x80260009));
    CHECK(sceAudioOutSetVolume(first, 2, volumes), 0);
    CHECK(sceAudioOutGetPortState(first, &state), 0);
    CHECK(state.output, 1);
    CHECK(state.channels, 2);

    for (int i = 0; i < 256; i++) {
        stereo[2 * i] = 1000;
        stereo[2 * i + 1] = -1000;
    }
    for (int i = 0; i < 512; i++)
        mono[i] = 0.25f;
    /* Ten grains last 53 ms: the call for all of them to be played returns no earlier. */
    uint64_t last, start = sceKernelGetProcessTime();
    for (int i = 0; i < 10; i++)
        CHECK(sceAudioOutOutput(first, stereo), 256);
    CHECK(sceKernelGetProcessTime() - start >= 9 * 5333, 1);
    CHECK(sceAudioOutOutput(first, NULL), 256);
    CHECK(sceKernelGetProcessTime() - start >= 10 * 5333, 1);
    CHECK(sceAudioOutGetLastOutputTime(first, &last), 0);
    CHECK(last >= start + 8 * 5333, 1);
    both[0].handle = first;
    both[0].samples = stereo;
    both[1].handle = second;
    both[1].samples = mono;
    CHECK(sceAudioOutOutputs(both, 2), 256);
    CHECK(sceAudioOutOutputs(both, 0), CODE(0x80260005));
    both[1].handle = second + 1;
    CHECK(sceAudioOutOutputs(both, 2), CODE(0x80260001));
    CHECK(sceAudioOutClose(second), 0);
    CHECK(sceAudioOutClose(second), CODE(0x80260001));
}

static void dialogs(void)
{
    struct { unsigned buttons, pad; const char *text; const void *labels; char reserved[24]; } message = {.text = "Overwrite?"};
    struct { unsigned kind, pad; const char *text; char reserved[64]; } progress = {.text = "Copying"};
    struct { uint64_t base[6], size; unsigned mode, pad; const void *message, *progress, *system; int user; char reserved[44]; } param = {
        .mode = 1, .message = &message, .progress = &progress,
    };
    unsigned result[11];
    CHECK(sceMsgDialogInitialize(), CODE(0x80b80001));
    CHECK(sceCommonDialogInitialize(), 0);
    CHECK(sceCommonDialogInitialize(), CODE(0x80b80002));
    CHECK(sceMsgDialogOpen(&param), CODE(0x80b80003));
    CHECK(sceMsgDialogUpdateStatus(), 0);
    CHECK(sceMsgDialogInitialize(), 0);
    CHECK(sceMsgDialogInitialize(), CODE(0x80b80004));
    CHECK(sceMsgDialogUpdateStatus(), 1);
    CHECK(sceMsgDialogGetResult(result), CODE(0x80b80005));
    CHECK(sceMsgDialogClose(), CODE(0x80b8000b));
    CHECK(sceMsgDialogOpen(NULL), CODE(0x80b8000d));
    /* Buttons, and what comes of them: yes or no, OK, no first, cancel first. */
    static const unsigned cases[][3] = {{1, 0, 1}, {0, 0, 1}, {7, 0, 2}, {8, 1, 0}};
    for (int i = 0; i < 4; i++) {
        message.buttons = cases[i][0];
        CHECK(sceMsgDialogOpen(&param), 0);
        CHECK(sceCommonDialogIsUsed(), 1);
        CHECK(sceMsgDialogGetStatus(), 2);
        CHECK(sceMsgDialogOpen(&param), CODE(0x80b80006));
        CHECK(sceMsgDialogUpdateStatus(), 3);
        CHECK(sceCommonDialogIsUsed(), 0);
        CHECK(sceMsgDialogGetResult(result), 0);
        CHECK(result[0], 1);
        CHECK(result[1], cases[i][1]);
        CHECK(result[2], cases[i][2]);
    }
    message.buttons = 4;
    CHECK(sceMsgDialogOpen(&param), CODE(0x80b8000a));
    /* Without buttons, and with a bar, until it is closed. */
    message.buttons = 5;
    CHECK(sceMsgDialogOpen(&param), 0);
    CHECK(sceMsgDialogUpdateStatus(), 2);
    CHECK(sceMsgDialogProgressBarInc(0, 5), CODE(0x80b8000f));
    CHECK(sceMsgDialogClose(), 0);
    CHECK(sceMsgDialogUpdateStatus(), 3);
    param.mode = 2;
    CHECK(sceMsgDialogProgressBarInc(0, 5), CODE(0x80b8000b));
    CHECK(sceMsgDialogOpen(&param), 0);
    CHECK(sceMsgDialogProgressBarInc(0, 5), 0);
    CHECK(sceMsgDialogProgressBarSetMsg(0, "Copied"), 0);
    CHECK(sceMsgDialogUpdateStatus(), 2);
    CHECK(sceMsgDialogClose(), 0);
    CHECK(sceMsgDialogTerminate(), 0);
    CHECK(sceMsgDialogTerminate(), CODE(0x80b80003));
}

int main(void)
{
    controller();
    sound();
    dialogs();
    return relic_checked();
}
