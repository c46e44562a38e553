// C++ in the program and in two modules: classes, destructors, and exceptions that cross from one to the other.
#include <relic/guest.h>
#include "shapes.h"

static int constructed = 0;
static int next() { return ++constructed; }

struct Guard {
    int number;
    explicit Guard(int number) : number(number) {}
    ~Guard() { printf("guard %d\n", number); }
};

struct Global {
    int value = next();
    ~Global() { printf("global gone\n"); }
} global;

static int through(int depth)
{
    Guard guard(depth);
    return depth ? through(depth - 1) + 1 : thrower_throw(2);
}

static int once()
{
    static int value = next() * 10;
    return value;
}

int main(int, char **)
{
    printf("constructors %d, once %d %d\n", global.value, once(), once());
    try {
        throw 42;
    } catch (int number) {
        printf("int %d\n", number);
    }
    try {
        Guard guard(1);
        throw Derived(5);
    } catch (const Base &base) {
        printf("base %d %d\n", base.value, base.area());
    }
    try {
        try {
            throw 'c';
        } catch (int) {
            printf("never\n");
        } catch (...) {
            printf("again\n");
            throw;
        }
    } catch (char letter) {
        printf("char %c\n", letter);
    }
    for (int kind = 0; kind < 4; kind++) {
        try {
            Guard guard(10 + kind);
            printf("returned %d\n", thrower_throw(kind));
        } catch (const Base &base) {
            printf("base %d %d\n", base.value, base.area());
        } catch (int number) {
            printf("int %d\n", number);
        } catch (...) {
            printf("something\n");
        }
    }
    try {
        through(3);
    } catch (const Base &base) {
        printf("through: %d\n", base.value);
    }
    printf("caught there: %d\n", trap_run([](int number) { throw Derived(number); }, 8));
    Base *made = thrower_make(4);
    printf("made: %d %d\n", made->value, made->area());
    delete made;
    return 9;
}
