//! Images.

use super::{flags, register};
use crate::decode::Instruction;
use std::fmt::{self, Write as _};

impl Instruction {
    pub(super) fn image(&self, operands: &mut Vec<String>, tail: &mut String) -> fmt::Result {
        let memory = &self.memory;
        let count = image_address_count(self);
        let bvh = self.row.name.contains("BVH");
        operands.push(register(self.dst, image_data_registers(self), false));
        operands.push(if memory.nsa > 0 {
            let list: Vec<_> = memory
                .addresses
                .iter()
                .take(count)
                .map(|a| format!("v{a}"))
                .collect();
            format!("[{}]", list.join(", "))
        } else {
            // Sequential addresses are register tuples of the sizes that exist.
            let tuple = match count {
                0..=8 => count,
                _ => 16,
            };
            register(self.src[0], tuple as u8, false)
        });
        operands.push(register(self.src[1], if bvh { 4 } else { 8 }, false));
        if self.width('c') > 0 {
            operands.push(register(self.src[2], 4, false));
        }
        if bvh {
            flags(tail, &[(memory.a16, "a16")]);
            return Ok(());
        }
        let dims = [
            "1D",
            "2D",
            "3D",
            "CUBE",
            "1D_ARRAY",
            "2D_ARRAY",
            "2D_MSAA",
            "2D_MSAA_ARRAY",
        ];
        if memory.dmask != 0 {
            write!(tail, " dmask:{:#x}", memory.dmask)?;
        }
        write!(tail, " dim:SQ_RSRC_IMG_{}", dims[usize::from(memory.dim & 7)])?;
        flags(
            tail,
            &[
                (memory.unnormalised, "unorm"),
                (memory.dlc, "dlc"),
                (memory.glc, "glc"),
                (memory.slc, "slc"),
                (memory.r128, "r128"),
                (memory.a16, "a16"),
                (memory.tfe, "tfe"),
                (memory.lwe, "lwe"),
                (memory.d16, "d16"),
            ],
        );
        Ok(())
    }
}

/// Registers of an image instruction's data.
pub(crate) fn image_data_registers(instruction: &Instruction) -> u8 {
    let (name, memory) = (instruction.row.name, &instruction.memory);
    let components = if name.contains("GATHER4") {
        4
    } else {
        (memory.dmask.count_ones() as u8).max(1)
    };
    if name.contains("BVH") {
        return 4;
    }
    if name.contains("ATOMIC") {
        // One or two words, and as many comparands.
        let least = if name.contains("CMPSWAP") { 2 } else { 1 };
        let asked = components + u8::from(memory.tfe);
        return if asked == 2 * least { asked } else { least };
    }
    let words = if memory.d16 {
        components.div_ceil(2)
    } else {
        components
    };
    words + u8::from(memory.tfe)
}

/// Most address registers that an image instruction of this name can have: how long its list may be.
pub(crate) fn image_address_most(name: &str) -> usize {
    if name.contains("BVH") {
        return 12;
    }
    let sampled = name.contains("SAMPLE") || name.contains("GATHER4");
    let has = |word: &str| name.split('_').skip(2).any(|w| w == word);
    if !sampled {
        return 4;
    }
    let gradients = if has("D") || has("CD") { 6 } else { 0 };
    3 + gradients + ["L", "CL", "O", "C", "B"].iter().filter(|word| has(word)).count()
}

/// Number of address registers of an image instruction, from its name, dimensions and packing.
pub(crate) fn image_address_count(instruction: &Instruction) -> usize {
    let name = instruction.row.name;
    let memory = &instruction.memory;
    if name.contains("BVH") {
        let wide = usize::from(name.contains("BVH64"));
        return if memory.a16 { 8 + wide } else { 11 + wide };
    }
    let coordinates = [1, 2, 3, 3, 2, 3, 3, 4][usize::from(memory.dim & 7)];
    let gradients: usize = [1, 2, 3, 2, 1, 2, 2, 2][usize::from(memory.dim & 7)] * 2;
    let sampled = name.contains("SAMPLE") || name.contains("GATHER4");
    let words = || name.split('_').skip(2);
    let has = |word: &str| words().any(|w| w == word);
    if !sampled {
        if name == "IMAGE_GET_RESINFO" {
            return 1;
        }
        let mip = usize::from(name.contains("MIP"));
        let count = coordinates + mip;
        return if memory.a16 { count.div_ceil(2) } else { count };
    }
    let mut count = 0;
    let mut packed = coordinates + usize::from(has("L") || has("CL"));
    count += usize::from(has("O")) + usize::from(has("C"));
    // The bias is one register of its own, packed or not.
    count += usize::from(has("B"));
    if has("D") || has("CD") {
        if has("G16") {
            // Each direction starts a register of its own.
            count += 2 * (gradients / 2).div_ceil(2);
        } else {
            count += gradients;
        }
    }
    if memory.a16 {
        packed = packed.div_ceil(2);
    }
    count + packed
}
