/* Sixty frames of a triangle whose colour moves, drawn with the console's graphics library into two tiled buffers of
 * 256 by 256 pixels, and flipped. Prints a line for what it checked; the exit code is 0 when all of it was right. */
#include <relic/guest.h>

#include "agc.h"
#include "shaders.h"

#define SIZE 256u
#define FRAMES 60
#define BUFFERS 2
/* 64 KiB blocks of 128 by 128 pixels. */
#define SURFACE_BYTES (4u * 65536u)
#define COMMAND_WORDS 4096u

/* Everything that the GPU reads, in direct memory. */
struct memory {
    uint32_t vertex_code[64], pixel_code[64];
    struct shader vertex, pixel;
    struct pair target[BUFFERS][32];
    struct pair primitive_cx[2], primitive_uc[3], interpolants[32];
    uint32_t commands[BUFFERS][COMMAND_WORDS];
    volatile uint64_t label;
};

static struct memory *gpu;
static void *surfaces[BUFFERS];
static struct shader *vertex, *pixel;

static void fail(const char *what, long code)
{
    printf("triangle: %s: %lx\n", what, (unsigned long)code & 0xffffffff);
    exit(1);
}

static void check(const char *what, int code)
{
    if (code < 0)
        fail(what, code);
}

static void *allocate(size_t size)
{
    long offset = 0;
    void *address = NULL;
    check("allocate", sceKernelAllocateDirectMemory(0, (long)sceKernelGetDirectMemorySize(), size, 65536, 3, &offset));
    /* CPU and GPU read and write. */
    check("map", sceKernelMapDirectMemory(&address, size, 0x33, 0, offset, 65536));
    return address;
}

/* A pointer as the shader object keeps it. */
static void point(uint64_t *field, const void *to) { *field = (uint64_t)to - (uint64_t)field; }

static void put_pairs(struct pair *list, uint8_t *count, const struct pair *pairs, size_t size)
{
    memcpy(list, pairs, size);
    *count = (uint8_t)(size / sizeof *pairs);
}

static void begin_shader(struct shader *shader, uint8_t type, uint32_t code_size)
{
    struct header *header = &shader->header;
    header->magic = 0x34333231;
    header->version = 0x18;
    header->header_size = sizeof *header;
    header->code_size = code_size;
    header->type = type;
    point(&header->cx, shader->cx);
    point(&header->sh, shader->sh);
}

static void create_vertex_shader(void)
{
    static const struct pair cx[] = {
        {0x1b1, 0},                   /* SPI_VS_OUT_CONFIG: one parameter */
        {0x1c2, 1},                   /* SPI_SHADER_IDX_FORMAT */
        {0x1c3, 4},                   /* SPI_SHADER_POS_FORMAT: four components */
        {0x207, 0},                   /* PA_CL_VS_OUT_CNTL */
        {0x1ff, 32},                  /* GE_MAX_OUTPUT_PER_SUBGROUP */
        {0x291, 32 | 32 << 11},       /* VGT_GS_ONCHIP_CNTL */
        {0x2ce, 1},                   /* VGT_GS_MAX_VERT_OUT */
        {0x2d3, 1},                   /* GE_NGG_SUBGRP_CNTL */
    };
    static const struct pair sh[] = {
        {0x8a, 1 | 0xc0 << 12 | 1 << 21}, /* RSRC1: 16 vector registers, 16-bit and 64-bit denormals */
        {0x8b, 7 << 1},                   /* RSRC2: seven user registers */
        {0xc8, 0},                        /* the program's address, */
        {0xc9, 0},                        /* which creating the shader fills in */
    };
    static const struct specials specials = {
        .ge_cntl = {0x25b, 32 | 32 << 9},
        /* ES and GS on, two primitive groups, NGG, waves of 32, pass-through. */
        .stages = {0x2d5, 2 << 3 | 1 << 5 | 1 << 13 | 2 << 15 | 1 << 22 | 1 << 25},
        .user_first = 0x8c,
        .user_end = 0x93,
        .out_primitive = {0x29b, 2},
        .user_vgprs = {0x262, 0},
    };
    memcpy(gpu->vertex_code, vertex_code, sizeof vertex_code);
    vertex = &gpu->vertex;
    begin_shader(vertex, 2, sizeof vertex_code);
    put_pairs(vertex->cx, &vertex->header.cx_count, cx, sizeof cx);
    put_pairs(vertex->sh, &vertex->header.sh_count, sh, sizeof sh);
    vertex->specials = specials;
    point(&vertex->header.specials, &vertex->specials);
    vertex->header.special_size = sizeof specials;
    /* Semantic 0 in parameter 0, four components. */
    vertex->semantics[0] = 4 << 16;
    point(&vertex->header.outputs, vertex->semantics);
    vertex->header.output_count = 1;
    void *created = NULL;
    check("create vertex shader", sceAgcCreateShader(&created, vertex, gpu->vertex_code));
    if (created != vertex || vertex->sh[2].value != (uint32_t)((uint64_t)gpu->vertex_code >> 8))
        fail("the vertex program's address", vertex->sh[2].value);
}

static void create_pixel_shader(void)
{
    static const struct pair cx[] = {
        {0x08f, 0xf},    /* CB_SHADER_MASK */
        {0x1b3, 2},      /* SPI_PS_INPUT_ENA: perspective barycentrics at the centre */
        {0x1b4, 2},      /* SPI_PS_INPUT_ADDR */
        {0x1b6, 1},      /* SPI_PS_IN_CONTROL: one interpolant, waves of 64 */
        {0x1b8, 0},      /* SPI_BARYC_CNTL */
        {0x1c4, 0},      /* SPI_SHADER_Z_FORMAT */
        {0x1c5, 4},      /* SPI_SHADER_COL_FORMAT: half floats */
        {0x203, 1 << 4}, /* DB_SHADER_CONTROL: early depth */
    };
    static const struct pair sh[] = {
        {0x08, 0},
        {0x09, 0},
        {0x0a, 1 | 0xc0 << 12 | 1 << 21}, /* RSRC1: 8 vector registers */
        {0x0b, 0},                        /* RSRC2: no user registers */
    };
    memcpy(gpu->pixel_code, pixel_code, sizeof pixel_code);
    pixel = &gpu->pixel;
    begin_shader(pixel, 1, sizeof pixel_code);
    put_pairs(pixel->cx, &pixel->header.cx_count, cx, sizeof cx);
    put_pairs(pixel->sh, &pixel->header.sh_count, sh, sizeof sh);
    pixel->semantics[0] = 4 << 16;
    point(&pixel->header.inputs, pixel->semantics);
    pixel->header.input_count = 1;
    void *created = NULL;
    check("create pixel shader", sceAgcCreateShader(&created, pixel, gpu->pixel_code));
}

static uint32_t bits(float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

/* Context state of one buffer: its surface, and a viewport over all of it. */
static uint32_t fill_target(struct pair *list, const void *surface)
{
    const uint64_t address = (uint64_t)surface;
    const uint32_t corner = SIZE | SIZE << 16;
    const struct pair pairs[] = {
        {0x318, (uint32_t)(address >> 8)},             /* CB_COLOR0_BASE */
        {0x390, (uint32_t)(address >> 40) & 0xff},     /* CB_COLOR0_BASE_EXT */
        {0x31b, 0},                                    /* VIEW */
        {0x31c, 10 << 2 | 1 << 15},                    /* INFO: 8_8_8_8 unorm, RGBA order, clamped */
        {0x31d, 0},                                    /* ATTRIB: one sample */
        {0x3b0, (SIZE - 1) | (SIZE - 1) << 14},        /* ATTRIB2 */
        {0x3b8, 27 << 14 | 27 << 19 | 1 << 24},        /* ATTRIB3: 64 KiB render-target order, 2-D */
        {0x08e, 0xf},                                  /* CB_TARGET_MASK */
        {0x1e0, 0},                                    /* CB_BLEND0_CONTROL */
        {0x202, 0x00cc0010},                           /* CB_COLOR_CONTROL: copy */
        {0x010, 0},                                    /* DB_Z_INFO: no depth */
        {0x011, 0},                                    /* DB_STENCIL_INFO */
        {0x200, 0},                                    /* DB_DEPTH_CONTROL */
        {0x00c, 0},          {0x00d, corner},          /* screen scissor */
        {0x081, 0x80000000}, {0x082, corner},          /* window scissor */
        {0x090, 0x80000000}, {0x091, corner},          /* generic scissor */
        {0x094, 0x80000000}, {0x095, corner},          /* viewport scissor */
        {0x0b4, 0},          {0x0b5, bits(1.0f)},      /* viewport depth */
        {0x10f, bits(SIZE / 2.0f)},  {0x110, bits(SIZE / 2.0f)},
        {0x111, bits(SIZE / -2.0f)}, {0x112, bits(SIZE / 2.0f)},
        {0x113, bits(1.0f)},         {0x114, 0},
        {0x204, 1 << 19},                              /* PA_CL_CLIP_CNTL: z from 0 to w */
        {0x205, 0},                                    /* PA_SU_SC_MODE_CNTL: no culling */
        {0x206, 0x43f},                                /* PA_CL_VTE_CNTL */
    };
    memcpy(list, pairs, sizeof pairs);
    return sizeof pairs / sizeof *pairs;
}

/* One draw of three vertices: corner, size and colour go through user data. */
static void draw(struct commands *commands, float x, float y, float size, const float *colour)
{
    const uint32_t user[] = {bits(colour[0]), bits(colour[1]), bits(colour[2]), bits(colour[3]),
                             bits(x), bits(y), bits(size)};
    sceAgcCbSetShRegisterRangeDirect(commands, 0x8c, user, sizeof user / sizeof *user);
    sceAgcDcbDrawIndexAuto(commands, 3, 0x40000000);
}

static void submit_frame(int handle, int frame, uint32_t target_count)
{
    const int buffer = frame % BUFFERS;
    uint32_t *words = gpu->commands[buffer];
    struct commands commands = {words, words + COMMAND_WORDS, words, words + COMMAND_WORDS, NULL, NULL, 0, 0};
    const float background[4] = {0.1f, 0.2f, 0.3f, 1.0f};
    const float colour[4] = {(float)frame / FRAMES, 1.0f - (float)frame / FRAMES, 0.5f, 1.0f};

    sceAgcDcbResetQueue(&commands, 0x3ff, 0);
    /* Everything that the CPU wrote is to be seen. */
    sceAgcDcbAcquireMem(&commands, 0, 0, 0x2c7c0, NULL, ~0ul, 160);
    sceAgcDcbSetCxRegistersIndirect(&commands, gpu->target[buffer], target_count);
    sceAgcDcbSetCxRegistersIndirect(&commands, vertex->cx, vertex->header.cx_count);
    sceAgcDcbSetCxRegistersIndirect(&commands, pixel->cx, pixel->header.cx_count);
    sceAgcDcbSetCxRegistersIndirect(&commands, gpu->primitive_cx, 2);
    sceAgcDcbSetCxRegistersIndirect(&commands, gpu->interpolants, 32);
    sceAgcDcbSetShRegistersIndirect(&commands, vertex->sh, vertex->header.sh_count);
    sceAgcDcbSetShRegistersIndirect(&commands, pixel->sh, pixel->header.sh_count);
    sceAgcDcbSetUcRegistersIndirect(&commands, gpu->primitive_uc, 3);
    sceAgcDcbSetNumInstances(&commands, 1);
    draw(&commands, -1.0f, -1.0f, 4.0f, background);
    draw(&commands, -0.5f, -0.5f, 1.0f, colour);
    /* Caches flushed, then the frame's number as a label. */
    sceAgcCbReleaseMem(&commands, 0x14, 0, 0, 0, &gpu->label, 2, (uint64_t)frame + 1, 0, 0, 0, 0);
    if (!sceAgcDcbSetFlip(&commands, (uint32_t)handle, buffer, 1, frame))
        fail("the frame does not fit its command buffer", frame);

    const struct submission submission = {words, (uint32_t)(commands.up - words), 0};
    check("submit", sceAgcDriverSubmitDcb(&submission));
}

/* Waits for the next flip and checks that it is the one expected. */
static void wait_for_flip(unsigned long queue, int frame)
{
    struct event event;
    int count = 0;
    unsigned timeout = 20000000;
    int64_t argument = -1;
    check("wait for the flip", sceKernelWaitEqueue(queue, &event, 1, &count, &timeout));
    check("event data", sceVideoOutGetEventData(&event, &argument));
    if (count != 1 || sceVideoOutGetEventId(&event) != 0)
        fail("not one flip event", count);
    if (argument != frame || sceVideoOutGetEventCount(&event) != 1)
        fail("a flip out of order", (long)argument);
}

int main(void)
{
    uint32_t state[64] = {0};
    check("initialise", sceAgcInit(state, 8));
    gpu = allocate((sizeof *gpu + 65535) / 65536 * 65536);
    memset(gpu, 0, sizeof *gpu);
    create_vertex_shader();
    create_pixel_shader();
    check("primitive state", sceAgcCreatePrimState(gpu->primitive_cx, gpu->primitive_uc, NULL, vertex, 4));
    check("interpolants", sceAgcCreateInterpolantMapping(gpu->interpolants, vertex, pixel));

    uint32_t target_count = 0;
    struct planes planes[BUFFERS] = {0};
    for (int i = 0; i < BUFFERS; i++) {
        surfaces[i] = allocate(SURFACE_BYTES);
        planes[i].data = surfaces[i];
        target_count = fill_target(gpu->target[i], surfaces[i]);
    }
    const int handle = sceVideoOutOpen(255, 0, 0, NULL);
    check("open the output", handle);
    check("flip rate", sceVideoOutSetFlipRate(handle, 0));
    uint64_t attribute[10];
    sceVideoOutSetBufferAttribute2(attribute, 0x8000000022000000, 0, SIZE, SIZE, 0, 0, 0);
    check("register buffers", sceVideoOutRegisterBuffers2(handle, 0, 0, planes, BUFFERS, attribute, 0, NULL));
    unsigned long queue = 0;
    check("event queue", sceKernelCreateEqueue(&queue, "flips"));
    check("flip events", sceVideoOutAddFlipEvent(queue, handle, NULL));

    for (int frame = 0; frame < FRAMES; frame++) {
        submit_frame(handle, frame, target_count);
        wait_for_flip(queue, frame);
        if (gpu->label != (uint64_t)frame + 1)
            fail("the label when the flip is done", (long)gpu->label);
    }

    struct flip_status status;
    check("flip status", sceVideoOutGetFlipStatus(handle, &status));
    printf("flips %lu, last %ld, pending %d, buffer %d\n", status.count, status.argument, status.pending,
           status.current_buffer);
    if (status.count != FRAMES || status.argument != FRAMES - 1 || status.pending != 0)
        return 2;
    check("no more flip events", sceVideoOutDeleteFlipEvent(queue, handle));
    check("no more queue", sceKernelDeleteEqueue(queue));
    check("unregister buffers", sceVideoOutUnregisterBuffers(handle, 0));
    check("close", sceVideoOutClose(handle));
    return 0;
}
