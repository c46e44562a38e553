// Seen by the program and its modules: each has its own type information, equal by name.
#pragma once

struct Counted {
    virtual ~Counted() {}
    int counted = 1;
};

struct Base {
    int value;
    explicit Base(int value) : value(value) {}
    virtual ~Base() {}
    virtual int area() const { return value; }
};

// Two bases: Base is not at the object's start.
struct Derived : Counted, Base {
    explicit Derived(int value) : Base(value) {}
    int area() const override { return value * value; }
};
