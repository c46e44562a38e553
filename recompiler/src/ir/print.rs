//! IR as text.

use super::{Function, Op, Terminator, Type};
use std::fmt::{self, Write as _};

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, block) in self.blocks.iter().enumerate() {
            let from: Vec<_> = block.predecessors.iter().map(|p| format!("b{}", p.0)).collect();
            writeln!(f, "b{number}: <- [{}] {:?}", from.join(" "), block.merge)?;
            for &value in &block.insts {
                let inst = self.inst(value);
                let mut line = String::from("  ");
                if inst.ty != Type::Void {
                    write!(line, "%{}: {:?} = ", value.0, inst.ty)?;
                }
                line.push_str(inst.op.text());
                for operand in &inst.operands {
                    match self.constant(*operand) {
                        Some(bits) => write!(line, " {bits:#x}")?,
                        None => write!(line, " %{}", operand.0)?,
                    }
                }
                if inst.immediate != 0
                    || matches!(inst.op, Op::Const | Op::UserData | Op::Flat | Op::Attribute)
                {
                    write!(line, " #{:#x}", inst.immediate)?;
                }
                writeln!(f, "{line}")?;
            }
            match &block.terminator {
                Terminator::Return => writeln!(f, "  return")?,
                Terminator::Unreachable => writeln!(f, "  unreachable")?,
                Terminator::Jump(to) => writeln!(f, "  jump b{}", to.0)?,
                Terminator::Branch { condition, yes, no } => {
                    writeln!(f, "  branch %{} b{} b{}", condition.0, yes.0, no.0)?;
                }
                Terminator::Switch {
                    selector,
                    cases,
                    default,
                } => {
                    let cases: Vec<_> = cases.iter().map(|case| format!("b{}", case.0)).collect();
                    writeln!(f, "  switch %{} [{}] b{}", selector.0, cases.join(" "), default.0)?;
                }
            }
        }
        Ok(())
    }
}
