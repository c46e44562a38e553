/* The graphics library's objects, as far as the triangle uses them. */
#ifndef TRIANGLE_AGC_H
#define TRIANGLE_AGC_H

#include <relic/types.h>

/* A register of a bank, in words from the bank's start, and its value. */
struct pair {
    uint32_t offset, value;
};

/* The object in front of a shader's tables. Pointers are relative to their own field until the shader is created. */
struct header {
    uint32_t magic, version;
    uint64_t user_data, code, cx, sh, specials, inputs, outputs;
    uint32_t header_size, code_size, constants_size, target;
    uint32_t input_count;
    uint16_t scratch, output_count, special_size;
    uint8_t type, cx_count, sh_count;
};

/* What a geometry shader says of the pipeline around it. */
struct specials {
    struct pair ge_cntl, stages;
    uint32_t dispatch_modifier;
    uint16_t user_first, user_end;
    uint64_t draw_modifier;
    struct pair out_primitive, user_vgprs;
};

/* A shader object with room for its tables. */
struct shader {
    struct header header;
    struct pair cx[12], sh[4];
    struct specials specials;
    uint32_t semantics[4];
};

/* A command buffer and its write cursor. */
struct commands {
    uint32_t *bottom, *top, *up, *down;
    int (*callback)(struct commands *commands, uint32_t words, void *user);
    void *user;
    uint32_t reserved, padding;
};

struct submission {
    uint32_t *address;
    uint32_t words, reserved;
};

/* A scan-out buffer. */
struct planes {
    void *data, *metadata, *reserved[2];
};

/* An event of an event queue. */
struct event {
    uint64_t ident;
    int16_t filter;
    uint16_t flags;
    uint32_t filter_flags;
    int64_t data;
    uint64_t user;
};

/* What a video output says of its flips. */
struct flip_status {
    uint64_t count, process_time, tsc;
    int64_t argument;
    uint64_t submit_tsc, reserved;
    int32_t gpu_queue, pending, current_buffer;
    uint32_t reserved_end;
};

#endif
