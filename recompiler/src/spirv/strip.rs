//! Types, constants and variables that nothing names.

use hashbrown::HashSet;
use rspirv::dr::{Module, Operand};
use rspirv::spirv::{Op, Word};

fn ids(operands: &[Operand]) -> impl Iterator<Item = Word> {
    operands.iter().filter_map(Operand::id_ref_any)
}

/// Removes them with their decorations: constants are made before it is known whether code needs them.
pub(super) fn strip_unused(module: &mut Module) {
    let mut used: HashSet<Word> = HashSet::new();
    for inst in module.entry_points.iter().chain(&module.execution_modes).chain(
        module
            .functions
            .iter()
            .flat_map(|function| function.all_inst_iter()),
    ) {
        used.extend(inst.result_type);
        used.extend(ids(&inst.operands));
    }
    module
        .ext_inst_imports
        .retain(|inst| inst.result_id.is_none_or(|id| used.contains(&id)));
    // What is named comes before who names it.
    for inst in module.types_global_values.iter().rev() {
        if inst.result_id.is_some_and(|id| used.contains(&id)) {
            used.extend(inst.result_type);
            used.extend(ids(&inst.operands));
        }
    }
    module
        .types_global_values
        .retain(|inst| inst.result_id.is_none_or(|id| used.contains(&id)));
    let kept: HashSet<Word> = module
        .types_global_values
        .iter()
        .filter_map(|inst| inst.result_id)
        .collect();
    module.annotations.retain(|inst| match inst.operands.first() {
        Some(Operand::IdRef(target)) if matches!(inst.class.opcode, Op::Decorate | Op::MemberDecorate) => {
            kept.contains(target) || used.contains(target)
        }
        _ => true,
    });
}
