//! The geometry shader that stands for the hardware's rectangle lists.
//!
//! A rectangle list gives three corners: the first is joined to both others, and the fourth is what completes the
//! parallelogram. Vulkan has no such topology: the three vertices are drawn as a triangle, and this shader adds the
//! second half. Parameters follow the same rule as positions.

use rspirv::{
    binary::Assemble as _,
    dr::{Builder, Error, Operand},
    spirv::{
        AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel, FunctionControl,
        MemoryModel, StorageClass, Word,
    },
};

use crate::refusal::Reason;

/// SPIR-V of a geometry shader from three vertices with parameters at `locations` (bit n: location n, four floats
/// each) to the rectangle's two triangles.
///
/// # Errors
/// [`Reason::Internal`] when the module can't be built.
pub fn rect_list_geometry(locations: u32) -> Result<Vec<u32>, Reason> {
    build(locations).map_err(|error| Reason::Internal(error.to_string()))
}

/// One value that every vertex has: its variables in and out, and whether it is the position.
struct Carried {
    input: Word,
    output: Word,
    position: bool,
}

fn build(locations: u32) -> Result<Vec<u32>, Error> {
    let mut b = Builder::new();
    b.set_version(1, 5);
    b.capability(Capability::Shader);
    b.capability(Capability::Geometry);
    b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
    let void = b.type_void();
    let function_type = b.type_function(void, []);
    let float = b.type_float(32, None);
    let vector = b.type_vector(float, 4);
    let uint = b.type_int(32, 0);
    let three = b.constant_bit32(uint, 3);
    let indices = [0, 1, 2].map(|index| b.constant_bit32(uint, index));

    let block = b.type_struct([vector]);
    b.member_decorate(
        block,
        0,
        Decoration::BuiltIn,
        [Operand::BuiltIn(BuiltIn::Position)],
    );
    b.decorate(block, Decoration::Block, []);
    let blocks = b.type_array(block, three);
    let mut carried = Vec::new();
    let mut variables = Vec::new();
    let mut carry = |b: &mut Builder, input_type: Word, output_type: Word, location: Option<u32>| {
        let input_pointer = b.type_pointer(None, StorageClass::Input, input_type);
        let output_pointer = b.type_pointer(None, StorageClass::Output, output_type);
        let input = b.variable(input_pointer, None, StorageClass::Input, None);
        let output = b.variable(output_pointer, None, StorageClass::Output, None);
        if let Some(location) = location {
            for variable in [input, output] {
                b.decorate(variable, Decoration::Location, [Operand::LiteralBit32(location)]);
            }
        }
        variables.extend([input, output]);
        carried.push(Carried {
            input,
            output,
            position: location.is_none(),
        });
    };
    carry(&mut b, blocks, block, None);
    let vectors = b.type_array(vector, three);
    for location in (0..32).filter(|location| locations >> location & 1 != 0) {
        carry(&mut b, vectors, vector, Some(location));
    }
    let input_vector = b.type_pointer(None, StorageClass::Input, vector);
    let output_vector = b.type_pointer(None, StorageClass::Output, vector);

    let main = b.begin_function(void, None, FunctionControl::NONE, function_type)?;
    b.begin_block(None)?;
    // Corners of each value: the three given, and the fourth.
    let mut corners = Vec::new();
    for value in &carried {
        let mut loaded = [0; 4];
        for (slot, index) in loaded.iter_mut().zip(indices) {
            let path = if value.position {
                vec![index, indices[0]]
            } else {
                vec![index]
            };
            let pointer = b.access_chain(input_vector, None, value.input, path)?;
            *slot = b.load(vector, None, pointer, None, [])?;
        }
        let sum = b.f_add(vector, None, loaded[1], loaded[2])?;
        loaded[3] = b.f_sub(vector, None, sum, loaded[0])?;
        corners.push(loaded);
    }
    for corner in 0..4 {
        for (value, loaded) in carried.iter().zip(&corners) {
            let pointer = if value.position {
                b.access_chain(output_vector, None, value.output, [indices[0]])?
            } else {
                value.output
            };
            b.store(pointer, loaded[corner], None, [])?;
        }
        b.emit_vertex()?;
    }
    b.end_primitive()?;
    b.ret()?;
    b.end_function()?;
    b.entry_point(ExecutionModel::Geometry, main, "main", variables);
    b.execution_mode(main, ExecutionMode::Triangles, []);
    b.execution_mode(main, ExecutionMode::Invocations, [1]);
    b.execution_mode(main, ExecutionMode::OutputTriangleStrip, []);
    b.execution_mode(main, ExecutionMode::OutputVertices, [4]);
    Ok(b.module().assemble())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_shader_is_valid_whatever_it_carries() {
        let folder = tempfile::tempdir().unwrap();
        for (i, locations) in [0, 1, 0b1011, u32::MAX].into_iter().enumerate() {
            let words = rect_list_geometry(locations).unwrap();
            assert_eq!(
                words,
                rect_list_geometry(locations).unwrap(),
                "same input, same bytes"
            );
            let file = folder.path().join(format!("{i}.spv"));
            std::fs::write(
                &file,
                words
                    .iter()
                    .flat_map(|word| word.to_le_bytes())
                    .collect::<Vec<_>>(),
            )
            .unwrap();
            match Command::new("spirv-val")
                .args(["--target-env", "vulkan1.3"])
                .arg(&file)
                .output()
            {
                Ok(output) => {
                    assert!(
                        output.status.success(),
                        "{locations:#x}: {}",
                        String::from_utf8_lossy(&output.stderr)
                    );
                }
                Err(_) => eprintln!("skipped: spirv-val is not installed"),
            }
        }
    }
}
