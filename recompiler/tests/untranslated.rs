//! Which instructions decode and are refused all the same: the list is the snapshot beside this test.
//!
//! Every vector of the decoder is a program of its own, in the stage that has such an instruction. An instruction
//! counts as translated where any of its vectors becomes SPIR-V.

use relic_recompiler::{
    BufferShape, DescriptorKind, Dialect, FlatLocation, ImageShape, NumericClass, Profile, Reason, Refusal,
    ShaderBinary, Specialization, StageRegisters, analyse,
};
use std::collections::BTreeMap;

const END: u32 = 0xbf81_0000;

fn stage(text: &str) -> StageRegisters {
    if text.starts_with("exp ") {
        return StageRegisters::Vertex {
            rsrc1: 0xc0 << 12,
            rsrc2: 8 << 1,
            merged: true,
            pos_format: 4,
            vs_out_cntl: 0,
            vs_out_config: 0,
            wave32: false,
            scratch: 0,
        };
    }
    if text.starts_with("v_interp") {
        return StageRegisters::Pixel {
            rsrc1: 0xc0 << 12,
            rsrc2: 8 << 1,
            input_ena: 2,
            input_addr: 2,
            in_control: 32,
            input_cntl: std::array::from_fn(|location| location as u32),
            col_format: 0x9999_9999,
            z_format: 4,
            shader_mask: u32::MAX,
            db_shader_control: 1,
            wave32: false,
            scratch: 0,
        };
    }
    StageRegisters::Compute {
        // Float mode, and all VGPRs.
        rsrc1: 0xc0 << 12 | 63,
        // Scratch memory, 16 user data registers, 8 KiB of local data share.
        rsrc2: 1 | 16 << 1 | 16 << 15,
        rsrc3: 0,
        num_thread: [64, 1, 1],
        wave32: false,
        scratch: 64,
    }
}

/// Recompiles a program of one instruction.
fn recompile(code: &[u32], text: &str) -> Result<(), Refusal> {
    let binary = ShaderBinary {
        stage: stage(text),
        dialect: Dialect::Gfx1013,
        address: relic_core::GuestAddress(0x1_0000),
        code,
    };
    let program = analyse(&binary, &Profile::default())?;
    let count = |kind| {
        program
            .plan()
            .descriptors
            .iter()
            .filter(|d| d.kind == kind)
            .count()
    };
    let shape = BufferShape {
        stride: 16,
        format: 77,
        dst_sel: [4, 5, 6, 7],
        index_stride: 8,
        ..BufferShape::default()
    };
    let atomic = text.starts_with("image_atomic");
    let image = ImageShape {
        class: if atomic {
            NumericClass::Uint
        } else {
            NumericClass::Float
        },
        r32: atomic,
    };
    let specialization = Specialization {
        buffers: vec![shape; count(DescriptorKind::Buffer)].into(),
        images: vec![image; count(DescriptorKind::Image)].into(),
        flat: FlatLocation::UniformBuffer,
        ..Specialization::default()
    };
    program.specialise(&specialization).map(drop)
}

#[test]
fn the_list_of_untranslated_instructions_is_this_one() {
    // By mnemonic without its form: the reason of the last refusal, `None` once one form came through.
    let mut found: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for line in include_str!("vectors/gfx1013.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        let Some((words, text)) = line.split_once(" = ") else {
            continue;
        };
        let mut name = text.split(' ').next().unwrap_or_default();
        for form in ["_e32", "_e64", "_sdwa", "_dpp"] {
            name = name.strip_suffix(form).unwrap_or(name);
        }
        if matches!(found.get(name), Some(None)) {
            continue;
        }
        let mut code: Vec<u32> = words
            .split(' ')
            .filter_map(|word| u32::from_str_radix(word, 16).ok())
            .collect();
        // Of local and global data share the local one.
        let local = [code[0] & !(1 << 17), code.get(1).copied().unwrap_or(0)];
        let is_share = code[0] >> 26 == 0x36 && !text.starts_with("ds_gws") && name != "ds_ordered_count";
        if is_share {
            code[..2].copy_from_slice(&local);
        }
        if name == "v_interp_p2_f32" {
            // Behind its first half.
            let first = code[0] & !(3 << 16 | 0xff);
            code = vec![first, first | 1 << 16 | 1];
        }
        // Branches land on an end, whatever their distance.
        code.resize(code.len() + 64, END);
        let refused = match recompile(&code, text) {
            Ok(()) => None,
            Err(refusal) => match refusal.reason {
                // Registers that no program would use so.
                Reason::BranchOutside(_) => None,
                reason => Some(reason.to_string()),
            },
        };
        found.insert(name, refused);
    }
    let total = found.len();
    let refused: Vec<_> = found
        .iter()
        .filter_map(|(name, reason)| reason.as_ref().map(|reason| format!("{name}: {reason}")))
        .collect();
    let list = format!(
        "{} of {total} instructions\n{}",
        refused.len(),
        refused.join("\n")
    );
    insta::assert_snapshot!(list);
}
