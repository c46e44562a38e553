//! The one table of operations.
//!
//! A row is `Name "text" result (operands) effect;`. A type written `T` stands for one type of the row's class, the same
//! everywhere in the row; `*` after the operands' list means that the access decides how many follow.

/// Types of values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Type {
    Void,
    Bool,
    U32,
    U64,
    F32,
    F64,
    /// Four words: texels and formatted loads.
    U32x4,
}

/// Type patterns of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pattern {
    Is(Type),
    /// Any integer or word type.
    Int,
    /// Any floating-point type.
    Float,
    Any,
}

/// What an operation does besides computing its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    /// Nothing: equal operands give equal results, and an unused one goes.
    Pure,
    /// Reads memory or depends on the lanes around it: an unused one goes, but it stays in its place.
    Reads,
    /// Changes something: it stays.
    Writes,
}

macro_rules! pattern {
    (Int) => {
        Pattern::Int
    };
    (Float) => {
        Pattern::Float
    };
    (Any) => {
        Pattern::Any
    };
    ($ty:ident) => {
        Pattern::Is(Type::$ty)
    };
}

macro_rules! ops {
    ($($(#[$doc:meta])* $name:ident $text:literal $result:ident ($($operand:ident),*) $($many:literal)? $effect:ident;)*) => {
        /// Operations of the IR.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub(crate) enum Op { $($(#[$doc])* $name,)* }

        impl Op {
            /// Name in the text form.
            pub fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            pub fn result(self) -> Pattern {
                match self { $(Self::$name => pattern!($result),)* }
            }

            pub fn operands(self) -> &'static [Pattern] {
                match self { $(Self::$name => &[$(pattern!($operand)),*],)* }
            }

            /// Whether more operands may follow the listed ones.
            pub fn is_variadic(self) -> bool {
                match self { $(Self::$name => [$($many,)? ""].len() > 1,)* }
            }

            pub fn effect(self) -> Effect {
                match self { $(Self::$name => Effect::$effect,)* }
            }
        }
    };
}

ops! {
    /// The immediate's bits.
    Const "const" Any () Pure;
    /// True: the lane came here by a branch that only lanes with this bit take. As a number it is not all ones.
    Active "active" Bool () Pure;
    /// Any bits at all.
    Undef "undef" Any () Pure;
    Phi "phi" Any () "*" Pure;
    Select "select" Any (Bool, Any, Any) Pure;

    // Inputs. The immediate is a register, component or location number.
    UserData "user_data" U32 () Pure;
    ShaderBase "shader_base" U32 () Pure;
    WorkgroupId "workgroup_id" U32 () Pure;
    LocalId "local_id" U32 () Pure;
    /// Number of the invocation in its group.
    LocalIndex "local_index" U32 () Pure;
    /// Number of the lane in its wave.
    LaneId "lane_id" U32 () Pure;
    /// Where the wave's scratch memory starts in the ring: an opaque mark that scratch accesses take out of their
    /// addresses.
    ScratchStart "scratch_start" U32 () Pure;
    VertexIndex "vertex_index" U32 () Pure;
    InstanceIndex "instance_index" U32 () Pure;
    FragCoord "frag_coord" F32 () Pure;
    FrontFacing "front_facing" Bool () Pure;
    SampleId "sample_id" U32 () Pure;
    SampleMaskIn "sample_mask_in" U32 () Pure;
    Layer "layer" U32 () Pure;
    /// Barycentric coordinate: an opaque mark that interpolation checks. Immediate: kind * 4 + component.
    Barycentric "barycentric" U32 () Pure;
    /// First half of an interpolation, likewise opaque. Immediate: attribute * 4 + component.
    InterpolateP1 "interpolate_p1" U32 (U32) Pure;
    /// A parameter of the vertex stage. Immediate: mode << 8 | attribute * 4 + component.
    Attribute "attribute" F32 () Pure;
    /// Word of the flat block; placed by the resource pass.
    Flat "flat" Any () Pure;

    // Bits.
    BitcastF32 "bitcast_f32" F32 (U32) Pure;
    BitcastU32 "bitcast_u32" U32 (F32) Pure;
    BitcastF64 "bitcast_f64" F64 (U64) Pure;
    BitcastU64 "bitcast_u64" U64 (F64) Pure;
    Pack64 "pack_64" U64 (U32, U32) Pure;
    Low64 "low_64" U32 (U64) Pure;
    High64 "high_64" U32 (U64) Pure;
    Extract "extract" Any (U32x4) Pure;
    ZeroExtend "zero_extend" U64 (U32) Pure;
    SignExtend "sign_extend" U64 (U32) Pure;

    // Integers.
    Add "add" Int (Int, Int) Pure;
    Sub "sub" Int (Int, Int) Pure;
    Mul "mul" Int (Int, Int) Pure;
    MulHighU "mul_high_u" U32 (U32, U32) Pure;
    MulHighS "mul_high_s" U32 (U32, U32) Pure;
    And "and" Int (Int, Int) Pure;
    Or "or" Int (Int, Int) Pure;
    Xor "xor" Int (Int, Int) Pure;
    Not "not" Int (Int) Pure;
    /// Shift counts are taken modulo the width.
    Shl "shl" Int (Int, U32) Pure;
    Shr "shr" Int (Int, U32) Pure;
    Sar "sar" Int (Int, U32) Pure;
    MinU "min_u" Int (Int, Int) Pure;
    MaxU "max_u" Int (Int, Int) Pure;
    MinS "min_s" Int (Int, Int) Pure;
    MaxS "max_s" Int (Int, Int) Pure;
    /// (value, offset, count): operands must fit the word.
    FieldU "field_u" U32 (U32, U32, U32) Pure;
    FieldS "field_s" U32 (U32, U32, U32) Pure;
    BitReverse "bit_reverse" U32 (U32) Pure;
    BitCount "bit_count" U32 (U32) Pure;
    /// Position of the lowest set bit, all ones where there is none.
    FindLow "find_low" U32 (U32) Pure;
    /// Position of the highest set bit, all ones where there is none.
    FindHighU "find_high_u" U32 (U32) Pure;
    /// Position of the highest bit that differs from the sign, all ones where there is none.
    FindHighS "find_high_s" U32 (U32) Pure;

    // Comparisons.
    Equal "equal" Bool (Int, Int) Pure;
    NotEqual "not_equal" Bool (Int, Int) Pure;
    LessU "less_u" Bool (Int, Int) Pure;
    LessEqualU "less_equal_u" Bool (Int, Int) Pure;
    LessS "less_s" Bool (Int, Int) Pure;
    LessEqualS "less_equal_s" Bool (Int, Int) Pure;
    /// Ordered comparisons: false with NaN.
    FEqual "f_equal" Bool (Float, Float) Pure;
    FNotEqual "f_not_equal" Bool (Float, Float) Pure;
    FLess "f_less" Bool (Float, Float) Pure;
    FLessEqual "f_less_equal" Bool (Float, Float) Pure;
    IsNan "is_nan" Bool (Float) Pure;

    // Truth.
    LAnd "l_and" Bool (Bool, Bool) Pure;
    LOr "l_or" Bool (Bool, Bool) Pure;
    LXor "l_xor" Bool (Bool, Bool) Pure;
    LNot "l_not" Bool (Bool) Pure;

    // Floating point.
    FAdd "f_add" Float (Float, Float) Pure;
    FSub "f_sub" Float (Float, Float) Pure;
    FMul "f_mul" Float (Float, Float) Pure;
    FDiv "f_div" Float (Float, Float) Pure;
    Fma "fma" Float (Float, Float, Float) Pure;
    FNeg "f_neg" Float (Float) Pure;
    FAbs "f_abs" Float (Float) Pure;
    /// With one NaN the other operand.
    FMin "f_min" Float (Float, Float) Pure;
    FMax "f_max" Float (Float, Float) Pure;
    /// To 0..=1, NaN to 0.
    Saturate "saturate" Float (Float) Pure;
    Floor "floor" Float (Float) Pure;
    Ceil "ceil" Float (Float) Pure;
    Trunc "trunc" Float (Float) Pure;
    RoundEven "round_even" Float (Float) Pure;
    Fract "fract" Float (Float) Pure;
    Sqrt "sqrt" Float (Float) Pure;
    InverseSqrt "inverse_sqrt" Float (Float) Pure;
    Exp2 "exp2" F32 (F32) Pure;
    Log2 "log2" F32 (F32) Pure;
    /// Of radians.
    Sin "sin" F32 (F32) Pure;
    Cos "cos" F32 (F32) Pure;
    Ldexp "ldexp" Float (Float, U32) Pure;
    FrexpMantissa "frexp_mantissa" Float (Float) Pure;
    FrexpExponent "frexp_exponent" U32 (Float) Pure;

    // Conversions. Floats to integers saturate, NaN becomes 0.
    F32ToU32 "f32_to_u32" U32 (F32) Pure;
    F32ToS32 "f32_to_s32" U32 (F32) Pure;
    U32ToF32 "u32_to_f32" F32 (U32) Pure;
    S32ToF32 "s32_to_f32" F32 (U32) Pure;
    F64ToU32 "f64_to_u32" U32 (F64) Pure;
    F64ToS32 "f64_to_s32" U32 (F64) Pure;
    U32ToF64 "u32_to_f64" F64 (U32) Pure;
    S32ToF64 "s32_to_f64" F64 (U32) Pure;
    F32ToF64 "f32_to_f64" F64 (F32) Pure;
    F64ToF32 "f64_to_f32" F32 (F64) Pure;
    /// Two halves from floats, nearest even.
    PackHalf "pack_half" U32 (F32, F32) Pure;
    /// Two halves from floats, toward zero; what is too large becomes the largest half.
    PackHalfZero "pack_half_zero" U32 (F32, F32) Pure;
    UnpackHalfLow "unpack_half_low" F32 (U32) Pure;
    UnpackHalfHigh "unpack_half_high" F32 (U32) Pure;
    PackSnorm16 "pack_snorm16" U32 (F32, F32) Pure;
    PackUnorm16 "pack_unorm16" U32 (F32, F32) Pure;

    // Lanes.
    /// Bits 31:0 of the mask's value over the wave.
    BallotLow "ballot_low" U32 (Bool) Reads;
    /// Bits 63:32.
    BallotHigh "ballot_high" U32 (Bool) Reads;
    /// This lane's bit of a 64-bit (low, high) number.
    InverseBallot "inverse_ballot" Bool (U32, U32) Pure;
    /// (truth, EXEC at that point): whether any lane of the wave has it.
    AnyLane "any_lane" Bool (Bool, Bool) Reads;
    /// (value, active): the value of the first active lane.
    ReadFirstLane "read_first_lane" U32 (U32, Bool) Reads;
    /// (value, lane).
    ReadLane "read_lane" U32 (U32, U32) Reads;
    /// (value, old, lane selector within the wave, active): the value of another lane, `old` where that lane is off.
    Shuffle "shuffle" U32 (U32, U32, U32, Bool) Reads;

    // Memory. The immediate is the access. The words of the descriptors come first until the resource pass has
    // found where they come from; then they are gone, and the access names the plan's descriptors.
    /// (low, high, offset).
    LoadAddress "load_address" U32 (U32, U32, U32) Reads;
    /// (four words of the V#, byte offset).
    LoadScalarBuffer "load_scalar_buffer" Any () "*" Reads;
    /// (four words of the V#, index, byte offset).
    LoadBuffer "load_buffer" Any () "*" Reads;
    LoadBufferFormat "load_buffer_format" U32x4 () "*" Reads;
    /// (V#, index, offset, value, active).
    StoreBuffer "store_buffer" Void () "*" Writes;
    /// (V#, index, offset, x, y, z, w, active).
    StoreBufferFormat "store_buffer_format" Void () "*" Writes;
    /// (V#, index, offset, value, comparand, active).
    AtomicBuffer "atomic_buffer" U32 () "*" Writes;
    /// As `AtomicBuffer` on two words.
    AtomicBuffer64 "atomic_buffer_64" U64 () "*" Writes;
    /// (guest address): followed through the page table.
    LoadPointer "load_pointer" U32 (U64) Reads;
    /// (guest address, value, active).
    StorePointer "store_pointer" Void (U64, U32, Bool) Writes;
    /// (guest address, value, comparand, active).
    AtomicPointer "atomic_pointer" U32 (U64, U32, U32, Bool) Writes;
    /// As `AtomicPointer` on two words.
    AtomicPointer64 "atomic_pointer_64" U64 (U64, U64, U64, Bool) Writes;
    /// (byte address).
    LoadShared "load_shared" U32 (U32) Reads;
    StoreShared "store_shared" Void (U32, U32, Bool) Writes;
    /// (byte address, value, comparand, active).
    AtomicShared "atomic_shared" U32 (U32, U32, U32, Bool) Writes;
    AtomicShared64 "atomic_shared_64" U64 (U32, U64, U64, Bool) Writes;
    /// (eight words of the T#, four of the S# where sampled, address components, data where stored, active).
    Image "image" U32x4 () "*" Writes;
    ImageRead "image_read" U32x4 () "*" Reads;
    /// (byte address in the lane's scratch memory): the dword that holds it.
    LoadScratch "load_scratch" U32 (U32) Reads;
    StoreScratch "store_scratch" Void (U32, U32, Bool) Writes;
    Barrier "barrier" Void () Writes;
    /// (x, y, z, w, active): words or floats.
    Export "export" Void () "*" Writes;
    /// Discards the lane where the operand is set.
    Demote "demote" Void (Bool) Writes;
    /// An instruction that is refused if it is still there when code is emitted. The immediate is the access.
    Refused "refused" Any () Reads;
}
