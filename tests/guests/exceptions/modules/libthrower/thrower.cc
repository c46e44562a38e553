#include <relic/guest.h>
#include "../../shapes.h"

struct Local {
    ~Local() { printf("local gone\n"); }
};

int thrower_throw(int kind)
{
    Local local;
    switch (kind) {
    case 0: throw 1000;
    case 1: throw 2.5;
    case 2: throw Derived(6);
    default: return kind;
    }
}

Base *thrower_make(int value) { return new Derived(value); }
