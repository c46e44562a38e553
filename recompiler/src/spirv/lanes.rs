//! What reads other lanes: subgroup operations where the device's subgroup is the guest's wave.

use super::{Emitted, Emitter};
use crate::binary::{Stage, StageRegisters};
use crate::ir::{Inst, Op, Type};
use crate::refusal::Reason;
use crate::translate::lanes::QUAD;
use rspirv::dr::Operand;
use rspirv::spirv::{Capability, MemorySemantics, Op as S, Scope, StorageClass, Word};

impl Emitter<'_> {
    fn wave(&self) -> u32 {
        self.program.stage.wave_size()
    }

    /// Whether the device's subgroups are the guest's waves.
    fn fits(&self) -> bool {
        self.program.profile.subgroup_size == self.wave()
    }

    /// Number of the lane in its wave.
    pub(super) fn lane_number(&mut self) -> Emitted {
        let word = self.u32();
        if self.program.stage.stage() == Stage::Compute {
            let (index, mask) = (self.local_index()?, self.word(self.wave() - 1));
            return self.op(S::BitwiseAnd, word, &[index, mask]);
        }
        self.subgroup_lane()
    }

    fn subgroup_lane(&mut self) -> Emitted {
        use super::stage::Input;
        use rspirv::spirv::{BuiltIn, Decoration};
        let word = self.u32();
        self.need("GroupNonUniform", Capability::GroupNonUniform);
        let key = (Input::BuiltIn, BuiltIn::SubgroupLocalInvocationId as u32);
        let variable = match self.inputs.get(&key) {
            Some(&variable) => variable,
            None => {
                let variable = self.global_variable(word, StorageClass::Input);
                let builtin = Operand::BuiltIn(BuiltIn::SubgroupLocalInvocationId);
                self.b.decorate(variable, Decoration::BuiltIn, [builtin]);
                if self.program.stage.stage() == Stage::Pixel {
                    self.b.decorate(variable, Decoration::Flat, Vec::new());
                }
                self.inputs.insert(key, variable);
                variable
            }
        };
        self.op(S::Load, word, &[variable])
    }

    fn subgroup(&mut self, opcode: S, ty: Word, operands: &[Word]) -> Emitted {
        let scope = self.word(Scope::Subgroup as u32);
        let mut list = vec![Operand::IdScope(scope)];
        list.extend(operands.iter().map(|&id| Operand::IdRef(id)));
        self.op_with(opcode, ty, list)
    }

    pub(super) fn lanes(&mut self, inst: &Inst) -> Emitted {
        let x: Vec<Word> = inst.operands.iter().map(|operand| self.id(*operand)).collect();
        let (word, truth) = (self.u32(), self.b.type_bool());
        match inst.op {
            Op::LaneId => {
                if !self.fits() {
                    return Err(Reason::Device(
                        "subgroups as wide as the guest's waves, which this program counts in",
                    ));
                }
                self.subgroup_lane()
            }
            Op::InverseBallot => {
                let lane = self.lane_number()?;
                let (thirty_two, thirty_one, one, zero) =
                    (self.word(32), self.word(31), self.word(1), self.word(0));
                let in_low = self.op(S::ULessThan, truth, &[lane, thirty_two])?;
                let half = self.op(S::Select, word, &[in_low, x[0], x[1]])?;
                let count = self.op(S::BitwiseAnd, word, &[lane, thirty_one])?;
                let shifted = self.op(S::ShiftRightLogical, word, &[half, count])?;
                let bit = self.op(S::BitwiseAnd, word, &[shifted, one])?;
                self.op(S::INotEqual, truth, &[bit, zero])
            }
            Op::Shuffle if inst.immediate & QUAD != 0 => self.quad(&x, inst.immediate as u32 & 0xff),
            Op::BallotLow | Op::BallotHigh if self.fits() => {
                self.need("GroupNonUniformBallot", Capability::GroupNonUniformBallot);
                let vector = self.vector(Type::U32, 4);
                let ballot = self.subgroup(S::GroupNonUniformBallot, vector, &[x[0]])?;
                let operands = vec![
                    Operand::IdRef(ballot),
                    Operand::LiteralBit32(u32::from(inst.op == Op::BallotHigh)),
                ];
                self.op_with(S::CompositeExtract, word, operands)
            }
            Op::AnyLane if self.fits() => {
                self.need("GroupNonUniformVote", Capability::GroupNonUniformVote);
                self.subgroup(S::GroupNonUniformAny, truth, &[x[0]])
            }
            Op::ReadFirstLane if self.fits() => {
                self.need("GroupNonUniformBallot", Capability::GroupNonUniformBallot);
                self.subgroup(S::GroupNonUniformBroadcastFirst, word, &[x[0]])
            }
            Op::ReadLane if self.fits() => {
                self.need("GroupNonUniformShuffle", Capability::GroupNonUniformShuffle);
                self.subgroup(S::GroupNonUniformShuffle, word, &x)
            }
            Op::Shuffle if self.fits() => {
                self.need("GroupNonUniformShuffle", Capability::GroupNonUniformShuffle);
                let mask = self.word(self.wave() - 1);
                let lane = self.op(S::BitwiseAnd, word, &[x[2], mask])?;
                let value = self.subgroup(S::GroupNonUniformShuffle, word, &[x[0], lane])?;
                self.or_old(inst, &x, lane, value)
            }
            _ => self.through_workgroup(inst, &x),
        }
    }

    /// The old value where the source lane is off.
    fn or_old(&mut self, inst: &Inst, x: &[Word], lane: Word, value: Word) -> Emitted {
        if self.function.constant(inst.operands[3]) == Some(1) {
            return Ok(value);
        }
        let (word, truth) = (self.u32(), self.b.type_bool());
        let (one, zero) = (self.word(1), self.word(0));
        let flag = self.op(S::Select, word, &[x[3], one, zero])?;
        let flag = self.subgroup(S::GroupNonUniformShuffle, word, &[flag, lane])?;
        let there = self.op(S::INotEqual, truth, &[flag, zero])?;
        self.op(S::Select, word, &[there, value, x[1]])
    }

    /// Permutations within four lanes.
    fn quad(&mut self, x: &[Word], control: u32) -> Emitted {
        if self.program.profile.subgroup_size < 4 {
            return Err(Reason::Device("subgroups of four lanes"));
        }
        self.need("GroupNonUniform", Capability::GroupNonUniform);
        self.need("GroupNonUniformQuad", Capability::GroupNonUniformQuad);
        let word = self.u32();
        let swap = match control {
            0b10_11_00_01 => Some(0),
            0b01_00_11_10 => Some(1),
            0b00_01_10_11 => Some(2),
            _ => None,
        };
        if let Some(direction) = swap {
            let direction = self.word(direction);
            return self.subgroup(S::GroupNonUniformQuadSwap, word, &[x[0], direction]);
        }
        let selectors = [control & 3, control >> 2 & 3, control >> 4 & 3, control >> 6 & 3];
        let mut chosen = None;
        let (three, truth) = (self.word(3), self.b.type_bool());
        let lane = self.subgroup_lane()?;
        let lane = self.op(S::BitwiseAnd, word, &[lane, three])?;
        let mut known = [None; 4];
        for (place, &selector) in selectors.iter().enumerate() {
            let value = match known[selector as usize] {
                Some(value) => value,
                None => {
                    let index = self.word(selector);
                    let value = self.subgroup(S::GroupNonUniformQuadBroadcast, word, &[x[0], index])?;
                    known[selector as usize] = Some(value);
                    value
                }
            };
            chosen = Some(match chosen {
                None => value,
                Some(others) if others == value => value,
                Some(others) => {
                    let place = self.word(place as u32);
                    let here = self.op(S::IEqual, truth, &[lane, place])?;
                    self.op(S::Select, word, &[here, value, others])?
                }
            });
        }
        chosen.ok_or_else(|| Reason::Internal(String::from("a quad without lanes")))
    }

    /// Lane operations in compute on devices with other subgroups: through workgroup memory, between barriers.
    fn through_workgroup(&mut self, inst: &Inst, x: &[Word]) -> Emitted {
        let StageRegisters::Compute { num_thread, .. } = self.program.stage else {
            return Err(Reason::Device(
                "subgroups as wide as the guest's waves, which this program reads across",
            ));
        };
        if !self.uniform_blocks.get(self.block).copied().unwrap_or(false) {
            return Err(Reason::Device(
                "subgroups as wide as the guest's waves, which this program reads across in divergent code",
            ));
        }
        let threads = num_thread.iter().map(|n| (*n).max(1)).product::<u32>();
        let wave = self.wave();
        let (word, truth) = (self.u32(), self.b.type_bool());
        let (zero, one) = (self.word(0), self.word(1));
        let index = self.local_index()?;
        let base_mask = self.word(!(wave - 1));
        let base = self.op(S::BitwiseAnd, word, &[index, base_mask])?;
        match inst.op {
            Op::ReadLane => {
                let place = self.fold2(S::IAdd, base, x[1])?;
                self.exchange(index, x[0], place, threads)
            }
            Op::Shuffle => {
                let mask = self.word(wave - 1);
                let lane = self.op(S::BitwiseAnd, word, &[x[2], mask])?;
                let place = self.fold2(S::IAdd, base, lane)?;
                let value = self.exchange(index, x[0], place, threads)?;
                if self.function.constant(inst.operands[3]) == Some(1) {
                    return Ok(value);
                }
                let flag = self.op(S::Select, word, &[x[3], one, zero])?;
                let flag = self.exchange(index, flag, place, threads)?;
                let there = self.op(S::INotEqual, truth, &[flag, zero])?;
                self.op(S::Select, word, &[there, value, x[1]])
            }
            Op::ReadFirstLane => {
                // The lowest active lane writes last: each lane proposes its number, the minimum wins.
                let lanes = self.first_active(index, x[1], threads)?;
                let place = self.fold2(S::IAdd, base, lanes)?;
                self.exchange(index, x[0], place, threads)
            }
            Op::BallotLow | Op::BallotHigh | Op::AnyLane => {
                let bits = self.gather_bits(index, x[0], inst.op, threads)?;
                if inst.op == Op::AnyLane {
                    self.op(S::INotEqual, truth, &[bits, zero])
                } else {
                    Ok(bits)
                }
            }
            _ => Err(Reason::Internal(format!(
                "`{}` is no lane operation",
                inst.op.text()
            ))),
        }
    }

    fn scratch_element(&mut self, index: Word, threads: u32) -> Emitted {
        let word = self.u32();
        let variable = match self.scratch {
            Some(variable) => variable,
            None => {
                // One word a thread, and four a wave behind them for ballots.
                let length = self.word(threads.next_multiple_of(64) + 4 * threads.div_ceil(32));
                let array = self.b.type_array(word, length);
                let variable = self.global_variable(array, StorageClass::Workgroup);
                self.scratch = Some(variable);
                variable
            }
        };
        let pointer = self.b.type_pointer(None, StorageClass::Workgroup, word);
        self.op(S::AccessChain, pointer, &[variable, index])
    }

    fn meet(&mut self) -> Result<(), Reason> {
        let semantics = MemorySemantics::ACQUIRE_RELEASE | MemorySemantics::WORKGROUP_MEMORY;
        let (scope, semantics) = (self.word(Scope::Workgroup as u32), self.word(semantics.bits()));
        let operands = vec![
            Operand::IdScope(scope),
            Operand::IdScope(scope),
            Operand::IdMemorySemantics(semantics),
        ];
        self.act(S::ControlBarrier, operands)
    }

    /// Writes `value` to this thread's word and reads the word at `place`.
    fn exchange(&mut self, index: Word, value: Word, place: Word, threads: u32) -> Emitted {
        let word = self.u32();
        let own = self.scratch_element(index, threads)?;
        self.act(S::Store, vec![Operand::IdRef(own), Operand::IdRef(value)])?;
        self.meet()?;
        let other = self.scratch_element(place, threads)?;
        let result = self.op(S::Load, word, &[other])?;
        self.meet()?;
        Ok(result)
    }

    /// Place of the wave's ballot words in the scratch array.
    fn wave_word(&mut self, index: Word, number: u32, threads: u32) -> Emitted {
        let shift = self.word(self.wave().trailing_zeros());
        let two = self.word(2);
        let wave = self.fold2(S::ShiftRightLogical, index, shift)?;
        let wave = self.fold2(S::ShiftLeftLogical, wave, two)?;
        let base = self.word(threads.next_multiple_of(64) + number);
        let place = self.fold2(S::IAdd, wave, base)?;
        self.scratch_element(place, threads)
    }

    fn gather_bits(&mut self, index: Word, truth_value: Word, op: Op, threads: u32) -> Emitted {
        let (word, truth) = (self.u32(), self.b.type_bool());
        let (zero, one, thirty_one, thirty_two) = (self.word(0), self.word(1), self.word(31), self.word(32));
        let lane = self.lane_number()?;
        let count = self.op(S::BitwiseAnd, word, &[lane, thirty_one])?;
        let bit = self.op(S::ShiftLeftLogical, word, &[one, count])?;
        let in_low = self.op(S::ULessThan, truth, &[lane, thirty_two])?;
        let belongs = match op {
            Op::BallotLow => in_low,
            Op::BallotHigh => self.op(S::LogicalNot, truth, &[in_low])?,
            _ => self.constant(Type::Bool, 1),
        };
        let counts = self.op(S::LogicalAnd, truth, &[belongs, truth_value])?;
        let bit = self.op(S::Select, word, &[counts, bit, zero])?;
        let place = self.wave_word(index, 0, threads)?;
        self.act(S::Store, vec![Operand::IdRef(place), Operand::IdRef(zero)])?;
        self.meet()?;
        self.atomic(
            crate::ir::Atomic::Or,
            place,
            bit,
            bit,
            Type::U32,
            StorageClass::Workgroup,
        )?;
        self.meet()?;
        let bits = self.op(S::Load, word, &[place])?;
        self.meet()?;
        Ok(bits)
    }

    fn first_active(&mut self, index: Word, active: Word, threads: u32) -> Emitted {
        let word = self.u32();
        let last = self.word(self.wave() - 1);
        let lane = self.lane_number()?;
        let proposal = self.op(S::Select, word, &[active, lane, last])?;
        let place = self.wave_word(index, 1, threads)?;
        self.act(S::Store, vec![Operand::IdRef(place), Operand::IdRef(last)])?;
        self.meet()?;
        self.atomic(
            crate::ir::Atomic::UMin,
            place,
            proposal,
            proposal,
            Type::U32,
            StorageClass::Workgroup,
        )?;
        self.meet()?;
        let first = self.op(S::Load, word, &[place])?;
        self.meet()?;
        Ok(first)
    }
}
