//! RDNA machine code in, SPIR-V and a resource plan out: a pure function of its input.
//!
//! [`analyse`] reads as the list of passes; [`Program::specialise`] emits SPIR-V for one set of descriptor shapes.

pub mod artifact;
pub mod binary;
mod cfg;
mod decode;
pub mod inspect;
mod ir;
pub mod page_table;
mod passes;
pub mod plan;
mod rect_list;
pub mod refusal;
pub mod specialization;
mod spirv;
mod translate;

pub use artifact::{Artifact, Binding, BindingKind, FlatBlock, Interface};
pub use binary::{Dialect, Features, Profile, ShaderBinary, Stage, StageRegisters, scratch_dwords};
pub use plan::{
    AccessFlags, Batch, DecodeError, DescriptorKind, DescriptorSource, EvaluateError, Evaluation, ImageDim,
    Inputs, PlanMemory, PlanRead, ResourcePlan, Scratch, Tape, Use, evaluate,
};
pub use rect_list::rect_list_geometry;
pub use refusal::{ProgramCounter, Reason, Refusal};
pub use specialization::{BufferShape, FlatLocation, ImageShape, NumericClass, Specialization};

use inspect::Clock;
use refusal::Fault;

/// Differs where two recompilers may give different results: for whoever keeps results.
pub const FINGERPRINT: &str = env!("RELIC_RECOMPILER");

/// A program that was understood: its IR, its plan and its interface.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) stage: StageRegisters,
    pub(crate) profile: Profile,
    pub(crate) function: ir::Function,
    pub(crate) plan: ResourcePlan,
    pub(crate) tape: Option<Tape>,
    pub(crate) interface: Interface,
    pub(crate) code_words: usize,
}

impl Program {
    /// Where the program's descriptors and flat words come from.
    #[must_use]
    pub fn plan(&self) -> &ResourcePlan {
        &self.plan
    }

    /// The plan's tape; `None` where the evaluator has to walk it.
    #[must_use]
    pub fn tape(&self) -> Option<&Tape> {
        self.tape.as_ref()
    }

    /// What the stages around it need to know.
    #[must_use]
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Binding of the page table behind `base`, the program's [`Specialization::binding_base`]; `None` where it follows
    /// no guest pointers.
    #[must_use]
    pub fn page_table_binding(&self, base: u32) -> Option<u32> {
        // Behind the descriptors and the flat words' buffer.
        let own = self.plan.descriptors.len() as u32 + 1;
        self.interface.follows_pointers.then_some(base + own)
    }

    /// The registers it was analysed for.
    #[must_use]
    pub fn stage(&self) -> &StageRegisters {
        &self.stage
    }

    /// Words from the start of the code to the end of the last instruction that can be reached: what the program's
    /// meaning depends on, and what an identity of the code has to cover.
    #[must_use]
    pub fn code_words(&self) -> usize {
        self.code_words
    }

    /// The program's IR as text. For tools and tests.
    #[must_use]
    pub fn ir(&self) -> String {
        self.function.to_string()
    }

    /// SPIR-V for one set of shapes.
    ///
    /// # Errors
    /// A shape count that does not match the plan, a format that has no decoder, or a missing device feature.
    pub fn specialise(&self, specialization: &Specialization) -> Result<Artifact, Refusal> {
        spirv::emit(self, specialization).map_err(|fault| fault.refuse(self.stage.stage()))
    }
}

/// Decodes and translates a program and finds its resources.
///
/// # Errors
/// The first instruction that is unknown, has no translation or uses a resource that cannot be found.
pub fn analyse(binary: &ShaderBinary<'_>, profile: &Profile) -> Result<Program, Refusal> {
    pipeline(binary, profile, &mut Clock::default())
        .map(|(program, _)| program)
        .map_err(|fault| fault.refuse(binary.stage.stage()))
}

fn pipeline(
    binary: &ShaderBinary<'_>,
    profile: &Profile,
    clock: &mut Clock,
) -> Result<(Program, cfg::Cfg), Fault> {
    let cfg = cfg::build(binary)?;
    clock.lap("decode and blocks");
    let blocks = cfg::structured::lower(&cfg)?;
    clock.lap("structure");
    let program = match build(binary, profile, &cfg, &blocks, false, clock) {
        // Addresses that no plan can find before the draw are followed by the program itself, where the device can.
        Err(fault) if fault.is_about_addresses() && profile.features.contains(Features::GUEST_POINTERS) => {
            build(binary, profile, &cfg, &blocks, true, clock)
        }
        program => program,
    }?;
    Ok((program, cfg))
}

fn build(
    binary: &ShaderBinary<'_>,
    profile: &Profile,
    cfg: &cfg::Cfg,
    blocks: &[cfg::structured::StructuredBlock],
    pointers: bool,
    clock: &mut Clock,
) -> Result<Program, Fault> {
    let (mut function, mut interface) = translate::translate(binary, cfg, blocks, pointers)?;
    check(&function, "translation")?;
    clock.lap("translate");
    passes::dead::remove_dead(&mut function);
    passes::simplify::simplify(&mut function);
    check(&function, "simplification")?;
    clock.lap("simplify");
    passes::numbering::number_values(&mut function);
    clock.lap("number values");
    passes::lanes::drop_uniform_reads(&mut function);
    clock.lap("lanes");
    passes::votes::relax_votes(&mut function);
    clock.lap("votes");
    passes::simplify::simplify(&mut function);
    passes::dead::remove_dead(&mut function);
    passes::straighten::straighten(&mut function);
    check(&function, "straightening")?;
    clock.lap("straighten");
    let plan = passes::resources::find_resources(&mut function, profile.storage_buffer_alignment, pointers)?;
    clock.lap("resources");
    if let StageRegisters::Compute { num_thread, .. } = binary.stage {
        let threads = num_thread
            .iter()
            .fold(1_u32, |all, n| all.saturating_mul((*n).max(1)));
        let wave = binary.stage.wave_size();
        if threads <= wave && profile.subgroup_size < wave {
            passes::lockstep::keep_lockstep(&mut function);
        }
    }
    check(&function, "the resource pass")?;
    passes::typing::type_floats(&mut function);
    check(&function, "typing")?;
    clock.lap("typing");
    for inst in function.placed() {
        let stores = matches!(
            inst.op,
            ir::Op::StorePointer | ir::Op::AtomicPointer | ir::Op::AtomicPointer64
        );
        interface.stores_through_pointers |= stores;
        interface.follows_pointers |= stores || inst.op == ir::Op::LoadPointer;
    }
    let tape = Tape::compile(&plan);
    clock.lap("tape");
    Ok(Program {
        stage: binary.stage,
        profile: *profile,
        function,
        plan,
        tape,
        interface,
        code_words: cfg.end.0 as usize / 4,
    })
}

/// The IR's rules, held after each group of passes in debug builds.
fn check(function: &ir::Function, after: &'static str) -> Result<(), Fault> {
    if cfg!(debug_assertions) {
        ir::verify::verify(function, after)?;
    }
    Ok(())
}

/// [`analyse`] and [`Program::specialise`] in one go.
///
/// # Errors
/// As those.
pub fn recompile(
    binary: &ShaderBinary<'_>,
    profile: &Profile,
    specialization: &Specialization,
) -> Result<Artifact, Refusal> {
    analyse(binary, profile)?.specialise(specialization)
}

/// The instruction at `program_counter` in the assembler's syntax, and its length in bytes. For tools.
///
/// # Errors
/// Words that are no instruction, or the end of the code.
pub fn disassemble(
    code: &[u32],
    program_counter: ProgramCounter,
    dialect: Dialect,
) -> Result<(String, u32), Reason> {
    let instruction = decode::decode(code, program_counter, dialect)?;
    Ok((instruction.to_string(), 4 * u32::from(instruction.length)))
}
