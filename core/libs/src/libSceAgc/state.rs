//! Register lists that follow from shaders.

use relic_macros::guest_fn;

use super::{
    AgcError,
    registers::Register,
    shader::{Header, header_at},
};
use crate::{
    log,
    pointer::{In, Out, host},
    result::SceResult,
};

/// Offsets of pairs in a geometry shader's specials.
const GE_CNTL: usize = 0x00;
const SHADER_STAGES_EN: usize = 0x08;
const GS_OUT_PRIM_TYPE: usize = 0x20;
const GE_USER_VGPR_EN: usize = 0x28;

/// User-config register VGT_PRIMITIVE_TYPE.
const PRIMITIVE_TYPE: u32 = 0x242;
/// Context register SPI_PS_INPUT_CNTL_0.
const PS_INPUT_CNTL: u32 = 0x191;
/// How many of them there are.
const INTERPOLANTS: usize = 32;

/// Fills two context and three user-config registers for a pipeline with this geometry shader.
#[guest_fn(libSceAgc, partial = "no hull shaders")]
pub(crate) extern "sysv64" fn sceAgcCreatePrimState(
    cx: Out<Register>,
    uc: Out<Register>,
    hull: u64,
    geometry: u64,
    primitive: u32,
) -> SceResult {
    let body = || {
        if cx.is_null() || uc.is_null() {
            return Err(AgcError::InvalidArgument);
        }
        if hull != 0 {
            log::warn(format_args!(
                "sceAgcCreatePrimState: hull shaders are not implemented"
            ));
            return Err(AgcError::InvalidArgument);
        }
        let header = header_at(geometry).read().ok_or(AgcError::InvalidArgument)?;
        // Geometry shader, and its back half.
        if !matches!(header.kind, 2 | 6) || header.specials == 0 {
            log::warn(format_args!(
                "sceAgcCreatePrimState: shader {geometry:#x} has binary type {} and specials {:#x}",
                header.kind, header.specials
            ));
            return Err(AgcError::InvalidArgument);
        }
        // SAFETY: part of the guest's shader object.
        let specials: Out<Register> = unsafe { Out::new(host(header.specials)) };
        let special = |offset| {
            specials
                .byte_add::<Register>(offset)
                .read()
                .ok_or(AgcError::InvalidArgument)
        };
        cx.write_at(0, special(SHADER_STAGES_EN)?);
        cx.write_at(1, special(GS_OUT_PRIM_TYPE)?);
        uc.write_at(0, special(GE_CNTL)?);
        uc.write_at(1, special(GE_USER_VGPR_EN)?);
        uc.write_at(2, primitive_type(primitive));
        Ok(())
    };
    body().into()
}

const fn primitive_type(primitive: u32) -> Register {
    Register {
        offset: PRIMITIVE_TYPE,
        value: primitive,
    }
}

/// Changes the primitive type of lists that `sceAgcCreatePrimState` filled.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcUpdatePrimState(
    _cx: Out<Register>,
    uc: Out<Register>,
    primitive: u32,
) -> SceResult {
    if uc.write_at(2, primitive_type(primitive)) {
        SceResult::OK
    } else {
        AgcError::InvalidArgument.into()
    }
}

/// A semantic: what a parameter means and where it is.
#[derive(Clone, Copy, Debug)]
struct Semantic(u32);

impl Semantic {
    const fn id(self) -> u32 {
        self.0 & 0xff
    }

    /// Parameter slot.
    const fn slot(self) -> u32 {
        self.0 >> 8 & 0x1f
    }

    const fn half_precision(self) -> u32 {
        self.0 >> 20 & 3
    }

    const fn flat(self) -> bool {
        self.0 >> 22 & 1 == 1
    }

    const fn default(self) -> u32 {
        self.0 >> 28 & 3
    }
}

/// The semantics of a table in a shader object.
fn semantics(table: u64, count: usize) -> Vec<Semantic> {
    // SAFETY: part of the guest's shader object.
    let table: In<u32> = unsafe { In::new(host(table)) };
    let words = table.read_many(count).unwrap_or_default();
    words.into_iter().map(Semantic).collect()
}

/// Value of one SPI_PS_INPUT_CNTL: the parameter that the input comes from, or a default.
fn interpolant(input: Semantic, outputs: &[Semantic]) -> u32 {
    let source = outputs.iter().find(|output| output.id() == input.id());
    let from = match source {
        Some(output) => output.slot(),
        None => 1 << 5 | input.default() << 8,
    };
    let half = match input.half_precision() {
        0 => 0,
        // FP16 interpolation, and which halves are used.
        used => 1 << 19 | used << 24,
    };
    from | u32::from(input.flat()) << 10 | half
}

fn interpolant_mapping(out: Out<Register>, geometry: u64, pixel: u64) -> Result<(), AgcError> {
    let geometry: Header = header_at(geometry).read().ok_or(AgcError::InvalidArgument)?;
    if out.is_null() {
        return Err(AgcError::InvalidArgument);
    }
    let outputs = semantics(geometry.outputs, usize::from(geometry.output_count));
    let inputs = header_at(pixel).read().map_or_else(Vec::new, |pixel| {
        semantics(pixel.inputs, (pixel.input_count as usize).min(INTERPOLANTS))
    });
    for index in 0..INTERPOLANTS {
        out.write_at(
            index,
            Register {
                offset: PS_INPUT_CNTL + index as u32,
                value: inputs.get(index).map_or(0, |input| interpolant(*input, &outputs)),
            },
        );
    }
    Ok(())
}

/// Fills the 32 context registers that connect a pixel shader's inputs with a geometry shader's outputs.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcCreateInterpolantMapping(
    out: Out<Register>,
    geometry: u64,
    pixel: u64,
) -> SceResult {
    interpolant_mapping(out, geometry, pixel).into()
}

/// The same under the hash that titles import.
#[guest_fn(libSceAgc, nid = "HV4j+E0MBHE")]
pub(crate) extern "sysv64" fn interpolant_mapping_of_titles(
    out: Out<Register>,
    geometry: u64,
    pixel: u64,
) -> SceResult {
    sceAgcCreateInterpolantMapping(out, geometry, pixel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_find_their_outputs_by_meaning() {
        let outputs = [Semantic(0x0005), Semantic(0x0107), Semantic(0x0209)];
        for (input, value) in [
            (0x0007, 1),
            (0x0009, 2),
            (0x0005 | 1 << 22, 1 << 10),
            (0x0008 | 2 << 28, 1 << 5 | 2 << 8),
            (0x0009 | 1 << 20, 2 | 1 << 19 | 1 << 24),
        ] {
            assert_eq!(interpolant(Semantic(input), &outputs), value, "{input:#x}");
        }
    }
}
