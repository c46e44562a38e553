// What a C++ program needs of its ABI library to throw and catch, after the Itanium C++ ABI. A console program has this
// in its C library; guests carry it along, so that exceptions are entirely the guest's. Each module has its own copy:
// types are equal by name.
#include <relic/guest.h>

namespace std {

class type_info {
public:
    virtual ~type_info();
    // The name begins with a star where it is unique to its file.
    const char *name() const { return text[0] == '*' ? text + 1 : text; }
    bool same(const type_info *other) const { return text == other->text || strcmp(name(), other->name()) == 0; }
    // Whether a handler of this type takes an object of the type `thrown`; moves `object` to the handler's part of it.
    virtual bool takes(const type_info *thrown, void **object) const;
    // The same for a base that `wanted` names, seen from the derived class.
    virtual bool has_base(const type_info *wanted, void **object) const;

private:
    const char *text;
};

type_info::~type_info() {}
bool type_info::takes(const type_info *thrown, void **object) const
{
    return same(thrown) || thrown->has_base(this, object);
}
bool type_info::has_base(const type_info *, void **) const { return false; }

[[noreturn]] void terminate() noexcept
{
    abort();
    __builtin_unreachable();
}

} // namespace std

namespace __cxxabiv1 {

class __fundamental_type_info : public std::type_info {
public:
    ~__fundamental_type_info() override;
};
__fundamental_type_info::~__fundamental_type_info() {}

// Pointers are caught by their exact type alone.
class __pointer_type_info : public std::type_info {
public:
    ~__pointer_type_info() override;
};
__pointer_type_info::~__pointer_type_info() {}

class __class_type_info : public std::type_info {
public:
    ~__class_type_info() override;
};
__class_type_info::~__class_type_info() {}

class __si_class_type_info : public __class_type_info {
public:
    ~__si_class_type_info() override;
    bool has_base(const std::type_info *wanted, void **object) const override
    {
        return wanted->same(base) || base->has_base(wanted, object);
    }

private:
    const __class_type_info *base;
};
__si_class_type_info::~__si_class_type_info() {}

class __vmi_class_type_info : public __class_type_info {
public:
    ~__vmi_class_type_info() override;
    bool has_base(const std::type_info *wanted, void **object) const override;

private:
    [[maybe_unused]] unsigned flags;
    unsigned count;
    struct base {
        const __class_type_info *type;
        long offset_and_flags;
    } bases[1];
};
__vmi_class_type_info::~__vmi_class_type_info() {}

bool __vmi_class_type_info::has_base(const std::type_info *wanted, void **object) const
{
    enum { IS_VIRTUAL = 1, IS_PUBLIC = 2, OFFSET_SHIFT = 8 };
    for (unsigned i = 0; i < count; i++) {
        if (!(bases[i].offset_and_flags & IS_PUBLIC))
            continue;
        long offset = bases[i].offset_and_flags >> OFFSET_SHIFT;
        // A virtual base's offset stands in the object's table.
        if (bases[i].offset_and_flags & IS_VIRTUAL)
            offset = *(long *)(*(char **)*object + offset);
        void *part = (char *)*object + offset;
        if (wanted->same(bases[i].type) || bases[i].type->has_base(wanted, &part)) {
            *object = part;
            return true;
        }
    }
    return false;
}

} // namespace __cxxabiv1

namespace {

struct unwind_exception {
    uint64_t kind;
    void (*cleanup)(int, unwind_exception *);
    uint64_t unwinder[2];
} __attribute__((aligned));

struct exception {
    const std::type_info *type;
    void (*destructor)(void *);
    exception *next_caught;
    int handlers;
    // What the personality found in its first pass, for its second.
    int selector;
    uintptr_t landing_pad;
    void *adjusted;
    unwind_exception head;
};

// "RLIC" "C++\0": which language and whose library.
const uint64_t KIND = 0x524c4943432b2b00;

void *object_of(exception *e) { return e + 1; }
exception *of_object(void *object) { return (exception *)object - 1; }
exception *of_head(unwind_exception *head)
{
    return (exception *)((char *)head - __builtin_offsetof(exception, head));
}

__thread exception *caught;

const uint8_t *leb128(const uint8_t *at, uint64_t *value, bool is_signed)
{
    uint64_t result = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = *at++;
        result |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (is_signed && shift < 64 && byte & 0x40)
        result |= ~0ul << shift;
    *value = result;
    return at;
}

template <typename T> T take(const uint8_t **at)
{
    T value;
    memcpy(&value, *at, sizeof value);
    *at += sizeof value;
    return value;
}

uintptr_t encoded(const uint8_t **at, uint8_t encoding)
{
    if (encoding == 0xff)
        return 0;
    const uint8_t *start = *at;
    uint64_t value = 0;
    switch (encoding & 0xf) {
    case 0x0: case 0x4: case 0xc: value = take<uint64_t>(at); break;
    case 0x1: *at = leb128(*at, &value, false); break;
    case 0x9: *at = leb128(*at, &value, true); break;
    case 0x3: value = take<uint32_t>(at); break;
    case 0xb: value = (uint64_t)(int64_t)take<int32_t>(at); break;
    default: abort();
    }
    if (value && (encoding & 0x70) == 0x10)
        value += (uintptr_t)start;
    if (value && encoding & 0x80)
        value = *(uintptr_t *)value;
    return value;
}

size_t width(uint8_t encoding)
{
    switch (encoding & 0xf) {
    case 0x3: case 0xb: return 4;
    default: return 8;
    }
}

} // namespace

extern "C" {

void *__cxa_allocate_exception(size_t size) noexcept
{
    exception *e = (exception *)calloc(1, sizeof *e + size);
    if (!e)
        std::terminate();
    return object_of(e);
}

void __cxa_free_exception(void *object) noexcept { free(of_object(object)); }

static void destroy(exception *e)
{
    if (e->destructor)
        e->destructor(object_of(e));
    free(e);
}

[[noreturn]] void __cxa_throw(void *object, std::type_info *type, void (*destructor)(void *))
{
    exception *e = of_object(object);
    e->type = type;
    e->destructor = destructor;
    e->head.kind = KIND;
    e->head.cleanup = [](int, unwind_exception *head) { destroy(of_head(head)); };
    _Unwind_RaiseException(&e->head);
    std::terminate(); // Nobody catches it.
}

void *__cxa_get_exception_ptr(void *head) noexcept { return of_head((unwind_exception *)head)->adjusted; }

// While an exception is thrown again out of a handler, its count of handlers is negative.
void *__cxa_begin_catch(void *head) noexcept
{
    exception *e = of_head((unwind_exception *)head);
    e->handlers = e->handlers < 0 ? 1 - e->handlers : e->handlers + 1;
    if (e != caught) {
        e->next_caught = caught;
        caught = e;
    }
    return e->adjusted;
}

void __cxa_end_catch()
{
    exception *e = caught;
    if (e->handlers < 0) {
        if (++e->handlers == 0)
            caught = e->next_caught;
    } else if (--e->handlers == 0) {
        caught = e->next_caught;
        destroy(e);
    }
}

[[noreturn]] void __cxa_rethrow()
{
    exception *e = caught;
    e->handlers = -e->handlers;
    _Unwind_RaiseException(&e->head);
    std::terminate();
}

[[noreturn]] void __clang_call_terminate(void *) noexcept { std::terminate(); }

int __gxx_personality_v0(int, int actions, uint64_t, unwind_exception *head, void *context)
{
    enum { SEARCH = 1, HANDLER = 4 };
    enum { HANDLER_FOUND = 6, INSTALL_CONTEXT = 7, CONTINUE_UNWIND = 8 };
    exception *e = of_head(head);
    uintptr_t landing_pad = 0;
    int selector = 0;
    if (actions & HANDLER) {
        landing_pad = e->landing_pad;
        selector = e->selector;
    } else {
        const uint8_t *at = (const uint8_t *)_Unwind_GetLanguageSpecificData(context);
        if (!at)
            return CONTINUE_UNWIND;
        uintptr_t start = _Unwind_GetRegionStart(context);
        // The return address is behind the call.
        uintptr_t place = _Unwind_GetIP(context) - 1 - start;
        uint8_t encoding = *at++;
        uintptr_t pads = encoding == 0xff ? start : encoded(&at, encoding);
        uint8_t type_encoding = *at++;
        const uint8_t *types = nullptr;
        uint64_t number;
        if (type_encoding != 0xff) {
            at = leb128(at, &number, false);
            types = at + number;
        }
        uint8_t site_encoding = *at++;
        at = leb128(at, &number, false);
        const uint8_t *action_table = at + number;
        while (at < action_table) {
            uintptr_t from = encoded(&at, site_encoding);
            uintptr_t size = encoded(&at, site_encoding);
            uintptr_t pad = encoded(&at, site_encoding);
            uint64_t action;
            at = leb128(at, &action, false);
            if (place < from || place >= from + size)
                continue;
            if (!pad)
                break;
            if (!action) {
                landing_pad = pads + pad;
                break;
            }
            for (const uint8_t *record = action_table + action - 1;;) {
                uint64_t filter, next;
                record = leb128(record, &filter, true);
                const uint8_t *here = record;
                leb128(record, &next, true);
                if ((int64_t)filter > 0) {
                    const uint8_t *entry = types - filter * width(type_encoding);
                    const std::type_info *type = (const std::type_info *)encoded(&entry, type_encoding);
                    void *object = object_of(e);
                    if (!type || type->takes(e->type, &object)) {
                        e->adjusted = object;
                        selector = (int)filter;
                        landing_pad = pads + pad;
                        break;
                    }
                } else if (filter == 0) {
                    landing_pad = pads + pad; // A clean-up.
                }
                if (!next)
                    break;
                record = here + next;
            }
            break;
        }
        if (!landing_pad)
            return CONTINUE_UNWIND;
        if (actions & SEARCH) {
            if (!selector)
                return CONTINUE_UNWIND;
            e->selector = selector;
            e->landing_pad = landing_pad;
            return HANDLER_FOUND;
        }
        // Short of the handler, only clean-ups run.
        selector = 0;
    }
    _Unwind_SetGR(context, 0, (uintptr_t)head);
    _Unwind_SetGR(context, 1, (uintptr_t)selector);
    _Unwind_SetIP(context, landing_pad);
    return INSTALL_CONTEXT;
}

void *__dso_handle __attribute__((visibility("hidden"))) = &__dso_handle;

} // extern "C"
