//! Formatted buffer accesses: components to words and back.

use super::memory::Address;
use super::{Emitted, Emitter};
use crate::ir::{Type, Value};
use crate::refusal::Reason;
use relic_core::gpu::format::{FormatInfo, GuestFormat, NumberClass};
use rspirv::spirv::{GlslStd450Op as GLOp, Op as S, Word};

impl Emitter<'_> {
    fn format_info(
        &self,
        descriptor: u32,
        own: Option<u8>,
    ) -> Result<(&'static FormatInfo, [u8; 4]), Reason> {
        let shape = self.buffer_shapes.get(&descriptor).copied().unwrap_or_default();
        let number = match own {
            Some(number) => u32::from(number),
            None => shape.format,
        };
        let info = GuestFormat(number as u16)
            .info()
            .filter(|info| info.block == 1 && info.class != NumberClass::SharedExponent)
            .ok_or_else(|| Reason::Specialization(format!("format {number} has no buffer decoder")))?;
        // An instruction's own format comes with identity selectors.
        let selectors = if own.is_some() {
            [4, 5, 6, 7]
        } else {
            shape.dst_sel
        };
        Ok((info, selectors))
    }

    /// The four selected components, words or floats. `quads` says where they lie in a buffer that is loaded four dwords
    /// at a time: the index, and the dword in its record.
    pub(super) fn load_format(
        &mut self,
        place: (u32, Address),
        quads: Option<(Option<Value>, u32)>,
        own: Option<u8>,
        components: u8,
        d16: bool,
    ) -> Result<[Word; 4], Reason> {
        let (descriptor, _) = place;
        let (info, selectors) = self.format_info(descriptor, own)?;
        let integer = info.class.is_integer();
        let zero = self.word(0);
        let one = self.word(match (integer, d16) {
            (true, _) => 1,
            (false, true) => 0x3c00,
            (false, false) => 0x3f80_0000,
        });
        let mut dwords: [Option<Word>; 4] = [None; 4];
        let mut decoded: [Option<Word>; 4] = [None; 4];
        let mut result = [zero; 4];
        for (index, slot) in result.iter_mut().enumerate().take(usize::from(components)) {
            let selector = selectors[index];
            *slot = match selector {
                0 => zero,
                1 => one,
                4..=7 => {
                    let component = usize::from(selector - 4);
                    if info.components[component] == 0 {
                        if component == 3 { one } else { zero }
                    } else if let Some(known) = decoded[component] {
                        known
                    } else {
                        let word = self.component_word(place, quads, info, component, &mut dwords)?;
                        let value = if d16 { self.narrowed(word, integer)? } else { word };
                        decoded[component] = Some(value);
                        value
                    }
                }
                other => {
                    return Err(Reason::Specialization(format!(
                        "channel selector {other} means nothing"
                    )));
                }
            };
        }
        Ok(result)
    }

    fn narrowed(&mut self, word: Word, integer: bool) -> Emitted {
        let ty = self.u32();
        if integer {
            let mask = self.word(0xffff);
            return self.op(S::BitwiseAnd, ty, &[word, mask]);
        }
        let (pair, zero) = (self.vector(Type::F32, 2), self.float(0.0));
        let float = self.as_float(word)?;
        let both = self.op(S::CompositeConstruct, pair, &[float, zero])?;
        self.ext(ty, GLOp::PackHalf2x16, &[both])
    }

    fn component_word(
        &mut self,
        (descriptor, address): (u32, Address),
        quads: Option<(Option<Value>, u32)>,
        info: &FormatInfo,
        component: usize,
        dwords: &mut [Option<Word>; 4],
    ) -> Emitted {
        let bits = u32::from(info.components[component]);
        let start: u32 = info.components[..component]
            .iter()
            .map(|bits| u32::from(*bits))
            .sum();
        let number = (start / 32) as usize;
        let dword = match dwords[number] {
            Some(dword) => dword,
            None => {
                let float = info.class == NumberClass::Float && bits == 32;
                let quad = match quads {
                    Some((index, first)) if info.bytes >= 4 => {
                        self.load_of_quad(descriptor, index, first + number as u32)?
                    }
                    _ => None,
                };
                let mut dword = match quad {
                    Some(dword) => dword,
                    None => self.load_dword(descriptor, address, number as u32, float)?,
                };
                if !float {
                    dword = self.as_word(dword)?;
                }
                if info.bytes < 4 {
                    let address = self.byte_at(address)?;
                    // Small elements start anywhere in their dword.
                    let (three, eight) = (self.word(3), self.word(8));
                    let byte = self.fold2(S::BitwiseAnd, address, three)?;
                    let shift = self.fold2(S::IMul, byte, eight)?;
                    dword = self.fold2(S::ShiftRightLogical, dword, shift)?;
                }
                dwords[number] = Some(dword);
                dword
            }
        };
        let word = self.u32();
        let signed = matches!(
            info.class,
            NumberClass::Snorm | NumberClass::Sscaled | NumberClass::Sint
        );
        let field = if bits == 32 {
            dword
        } else {
            let (offset, count) = (self.word(start % 32), self.word(bits));
            self.op(
                if signed {
                    S::BitFieldSExtract
                } else {
                    S::BitFieldUExtract
                },
                word,
                &[dword, offset, count],
            )?
        };
        let float = self.f32();
        let limit = |bits: u32| ((1_u64 << bits) - 1) as f32;
        let value = match info.class {
            NumberClass::Uint | NumberClass::Sint => return Ok(field),
            NumberClass::Uscaled => self.op(S::ConvertUToF, float, &[field])?,
            NumberClass::Sscaled => self.op(S::ConvertSToF, float, &[field])?,
            NumberClass::Unorm => {
                let (value, top) = (self.op(S::ConvertUToF, float, &[field])?, self.float(limit(bits)));
                self.op(S::FDiv, float, &[value, top])?
            }
            NumberClass::Snorm => {
                let (value, top) = (
                    self.op(S::ConvertSToF, float, &[field])?,
                    self.float(limit(bits - 1)),
                );
                let value = self.op(S::FDiv, float, &[value, top])?;
                let lowest = self.float(-1.0);
                self.ext(float, GLOp::NMax, &[value, lowest])?
            }
            NumberClass::Float => match bits {
                32 => return Ok(field),
                16 => self.unpack_half(field, 0)?,
                // Unsigned small floats are halves without sign and low mantissa bits.
                11 | 10 => {
                    let shift = self.word(15 - bits);
                    let half = self.op(S::ShiftLeftLogical, word, &[field, shift])?;
                    self.unpack_half(half, 0)?
                }
                _ => {
                    return Err(Reason::Specialization(format!(
                        "{bits}-bit floats have no decoder"
                    )));
                }
            },
            NumberClass::Srgb | NumberClass::SharedExponent => {
                return Err(Reason::Specialization(String::from(
                    "this number class has no buffer decoder",
                )));
            }
        };
        self.floats.insert(value);
        Ok(value)
    }

    /// Writes the components in memory order; selectors of stores are the identity.
    pub(super) fn store_format(
        &mut self,
        descriptor: u32,
        address: Address,
        own: Option<u8>,
        components: u8,
        d16: bool,
        values: &[Word],
    ) -> Result<(), Reason> {
        let (info, selectors) = self.format_info(descriptor, own)?;
        let word = self.u32();
        let mut dwords: [Option<Word>; 4] = [None; 4];
        let mut start = 0;
        for component in 0..4 {
            let bits = u32::from(info.components[component]);
            if bits == 0 {
                break;
            }
            if selectors[component] != 4 + component as u8 {
                return Err(Reason::Specialization(String::from(
                    "stores through a V# that permutes channels",
                )));
            }
            let source = if component < usize::from(components) {
                values[component]
            } else {
                self.word(0)
            };
            let field = self.encode(source, bits, info.class, d16)?;
            let slot = &mut dwords[(start / 32) as usize];
            let current = *slot;
            let placed = match current {
                None if start % 32 == 0 => field,
                _ => {
                    let shift = self.word(start % 32);
                    let shifted = self.op(S::ShiftLeftLogical, word, &[field, shift])?;
                    match current {
                        Some(current) => self.op(S::BitwiseOr, word, &[current, shifted])?,
                        None => shifted,
                    }
                }
            };
            dwords[(start / 32) as usize] = Some(placed);
            start += bits;
        }
        match info.bytes {
            1 | 2 => {
                if let Some(value) = dwords[0] {
                    let byte = self.byte_at(address)?;
                    self.store_narrow(descriptor, byte, 8 * u32::from(info.bytes), value)?;
                }
            }
            _ => {
                for (number, value) in dwords.into_iter().enumerate() {
                    if let Some(value) = value {
                        self.store_dword(descriptor, address, number as u32, value)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn encode(&mut self, value: Word, bits: u32, class: NumberClass, d16: bool) -> Emitted {
        let (word, float) = (self.u32(), self.f32());
        let mask = |this: &mut Self, value: Word| {
            if bits == 32 {
                return Ok(value);
            }
            let mask = this.word((1 << bits) - 1);
            this.op(S::BitwiseAnd, word, &[value, mask])
        };
        let source = |this: &mut Self| {
            if d16 {
                this.unpack_half(value, 0)
            } else {
                this.as_float(value)
            }
        };
        match class {
            NumberClass::Uint | NumberClass::Sint => mask(self, value),
            NumberClass::Float if bits == 32 && !d16 => Ok(value),
            NumberClass::Float if bits == 32 => {
                let value = self.unpack_half(value, 0)?;
                self.op(S::Bitcast, word, &[value])
            }
            NumberClass::Float if bits == 16 && d16 => mask(self, value),
            NumberClass::Float if bits == 16 => {
                let half = self.narrowed(value, false)?;
                mask(self, half)
            }
            NumberClass::Unorm | NumberClass::Snorm => {
                let signed = class == NumberClass::Snorm;
                let (low, one) = (self.float(if signed { -1.0 } else { 0.0 }), self.float(1.0));
                let top = self.float(((1_u64 << (bits - u32::from(signed))) - 1) as f32);
                let x = source(self)?;
                let x = self.ext(float, GLOp::NClamp, &[x, low, one])?;
                let x = self.op(S::FMul, float, &[x, top])?;
                let x = self.ext(float, GLOp::RoundEven, &[x])?;
                let x = self.op(if signed { S::ConvertFToS } else { S::ConvertFToU }, word, &[x])?;
                mask(self, x)
            }
            _ => Err(Reason::Specialization(format!(
                "{bits}-bit {class:?} components have no encoder"
            ))),
        }
    }
}
