//! Functions of `long double`, which comes and goes on the x87 stack.

forward! {
    /// Text to a number.
    strtold;
    /// As in C.
    acosl;
    /// As in C.
    asinl;
    /// As in C.
    atan2l;
    /// As in C.
    atanl;
    /// As in C.
    ceill;
    /// As in C.
    copysignl;
    /// As in C.
    cosl;
    /// As in C.
    exp2l;
    /// As in C.
    expl;
    /// As in C.
    fabsl;
    /// As in C.
    floorl;
    /// As in C.
    fmaxl;
    /// As in C.
    fminl;
    /// As in C.
    fmodl;
    /// As in C.
    frexpl;
    /// As in C.
    ldexpl;
    /// As in C.
    log10l;
    /// As in C.
    log2l;
    /// As in C.
    logl;
    /// As in C.
    lrintl;
    /// As in C.
    lroundl;
    /// As in C.
    modfl;
    /// As in C.
    powl;
    /// As in C.
    rintl;
    /// As in C.
    roundl;
    /// As in C.
    scalbnl;
    /// As in C.
    sinl;
    /// As in C.
    sqrtl;
    /// As in C.
    tanl;
    /// As in C.
    truncl;
}
