//! The unwinder: the host's own, which knows the guest's frames because relinked files keep their unwind tables.
//!
//! Each function is one jump. A frame of ours between the guest and the unwinder would stand in the stack that it walks.

forward! {
    /// Looks for a handler and goes there.
    _Unwind_RaiseException;
    /// Goes on unwinding behind a clean-up.
    _Unwind_Resume;
    /// Throws an exception again.
    _Unwind_Resume_or_Rethrow;
    /// Ends an exception's life.
    _Unwind_DeleteException;
    /// A frame's language-specific table.
    _Unwind_GetLanguageSpecificData;
    /// A frame's place in its code.
    _Unwind_GetIP;
    /// The same, and whether it is in front of the instruction.
    _Unwind_GetIPInfo;
    /// Where a frame's function begins.
    _Unwind_GetRegionStart;
    /// Sets where a frame goes on.
    _Unwind_SetIP;
    /// A frame's register.
    _Unwind_GetGR;
    /// Sets a frame's register.
    _Unwind_SetGR;
    /// A frame's canonical address.
    _Unwind_GetCFA;
    /// Calls a function for each frame.
    _Unwind_Backtrace;
}
