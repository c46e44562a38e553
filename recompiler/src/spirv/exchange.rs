//! Lane operations in compute on devices whose subgroups are not the guest's waves: through workgroup memory, between
//! barriers.
//!
//! Each thread has a word, and each wave a few for ballots. Where there is room, both exist twice and are used in
//! turns: a barrier then stands between a write and its reads only. Words are written again two exchanges later, and
//! nobody gets that far before all have read, for the exchange between has a barrier of its own.

use super::atomic::Place;
use super::{Emitted, Emitter};
use crate::binary::StageRegisters;
use crate::ir::{Atomic, Inst, Op, Type, Value};
use crate::refusal::Reason;
use hashbrown::HashMap;
use rspirv::dr::Operand;
use rspirv::spirv::{MemorySemantics, Op as S, Scope, StorageClass, Word};

/// Words of a wave, in each of the two sets: ballot bits 31:0 and 63:32, and the first active lane.
const WAVE_WORDS: u32 = 3;
/// Number of a wave's word that finds the first active lane.
const FIRST_LANE: u32 = 2;

/// The workgroup memory of lane operations.
pub(super) struct Scratch {
    variable: Word,
    /// Threads of the group, rounded up to whole waves.
    threads: u32,
    waves: u32,
    /// 1 or 2 sets of words.
    sets: u32,
    turn: u32,
    wave_turn: u32,
    /// IR block that `turn`, `wave_turn` and `ballots` hold for.
    block: usize,
    /// Both words of ballots already taken in the block, by the truth's value.
    ballots: HashMap<Value, [Word; 2]>,
}

impl Emitter<'_> {
    pub(super) fn through_workgroup(&mut self, inst: &Inst, x: &[Word]) -> Emitted {
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
        self.prepare_scratch(num_thread.iter().map(|n| (*n).max(1)).product::<u32>())?;
        let wave = self.wave();
        let (word, truth) = (self.u32(), self.truth());
        let (zero, one) = (self.word(0), self.word(1));
        let index = self.local_index()?;
        // The wave's first thread.
        let base = if self.scratch()?.waves == 1 {
            zero
        } else {
            let base_mask = self.word(!(wave - 1));
            self.op(S::BitwiseAnd, word, &[index, base_mask])?
        };
        match inst.op {
            Op::ReadLane => {
                let place = self.fold2(S::IAdd, base, x[1])?;
                self.exchange(index, x[0], place)
            }
            Op::Shuffle => {
                let mask = self.word(wave - 1);
                let lane = self.op(S::BitwiseAnd, word, &[x[2], mask])?;
                let place = self.fold2(S::IAdd, base, lane)?;
                let value = self.exchange(index, x[0], place)?;
                if self.function.constant(inst.operands[3]) == Some(1) {
                    return Ok(value);
                }
                let flag = self.op(S::Select, word, &[x[3], one, zero])?;
                let flag = self.exchange(index, flag, place)?;
                let there = self.op(S::INotEqual, truth, &[flag, zero])?;
                self.op(S::Select, word, &[there, value, x[1]])
            }
            Op::ReadFirstLane => {
                let lane = if self.function.is_all_lanes(inst.operands[1]) {
                    zero
                } else {
                    self.first_active(index, x[1])?
                };
                let place = self.fold2(S::IAdd, base, lane)?;
                self.exchange(index, x[0], place)
            }
            Op::BallotLow | Op::BallotHigh => {
                let bits = self.ballot(index, inst.operands[0], x[0])?;
                Ok(bits[usize::from(inst.op == Op::BallotHigh)])
            }
            Op::AnyLane => {
                let [low, high] = self.ballot(index, inst.operands[0], x[0])?;
                let bits = self.op(S::BitwiseOr, word, &[low, high])?;
                self.op(S::INotEqual, truth, &[bits, zero])
            }
            _ => Err(Reason::Internal(format!(
                "`{}` is no lane operation",
                inst.op.text()
            ))),
        }
    }

    /// Makes the scratch array, and starts its turns anew in a block that has not used it yet: what other blocks did
    /// before is not known.
    fn prepare_scratch(&mut self, threads: u32) -> Result<(), Reason> {
        if self.scratch.is_none() {
            let waves = threads.div_ceil(self.wave());
            let threads = threads.next_multiple_of(self.wave());
            let size = |sets: u32| sets * (threads + waves * WAVE_WORDS);
            let room = (self.program.profile.max_shared_memory / 4).saturating_sub(self.shared_words());
            let sets = match room {
                room if size(2) <= room => 2,
                room if size(1) <= room => 1,
                _ => return Err(Reason::Device("the workgroup memory that lane operations need")),
            };
            let (word, length) = (self.u32(), self.word(size(sets)));
            let array = self.b.type_array(word, length);
            let variable = self.global_variable(array, StorageClass::Workgroup);
            self.scratch = Some(Scratch {
                variable,
                threads,
                waves,
                sets,
                turn: 0,
                wave_turn: 0,
                block: usize::MAX,
                ballots: HashMap::new(),
            });
        }
        let block = self.block;
        let scratch = self.scratch()?;
        if scratch.block != block {
            scratch.block = block;
            scratch.turn = 0;
            scratch.wave_turn = 0;
            scratch.ballots.clear();
            // Block 0 is the entry, which nothing comes before.
            if block != 0 && scratch.sets > 1 {
                self.meet()?;
            }
        }
        Ok(())
    }

    fn scratch(&mut self) -> Result<&mut Scratch, Reason> {
        self.scratch
            .as_mut()
            .ok_or_else(|| Reason::Internal(String::from("no scratch array")))
    }

    fn scratch_element(&mut self, index: Word) -> Emitted {
        let (word, variable) = (self.u32(), self.scratch()?.variable);
        let pointer = self.pointer_to(StorageClass::Workgroup, word);
        self.op(S::AccessChain, pointer, &[variable, index])
    }

    fn scratch_place(&mut self, pointer: Word) -> Place {
        Place {
            pointer,
            class: StorageClass::Workgroup,
            element: self.u32(),
            numbers: Type::U32,
        }
    }

    /// All threads of the group arrive, with what they wrote.
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

    /// With one set of words the next write has to wait for all reads.
    fn meet_behind(&mut self) -> Result<(), Reason> {
        if self.scratch()?.sets == 1 {
            self.meet()?;
        }
        Ok(())
    }

    /// Writes `value` to this thread's word and reads the word of the thread `place`.
    fn exchange(&mut self, index: Word, value: Word, place: Word) -> Emitted {
        let word = self.u32();
        let scratch = self.scratch()?;
        let first = scratch.turn * scratch.threads;
        scratch.turn = (scratch.turn + 1) % scratch.sets;
        let first = self.word(first);
        let own = self.fold2(S::IAdd, index, first)?;
        let own = self.scratch_element(own)?;
        self.act(S::Store, vec![Operand::IdRef(own), Operand::IdRef(value)])?;
        self.meet()?;
        let other = self.fold2(S::IAdd, place, first)?;
        let other = self.scratch_element(other)?;
        let result = self.op(S::Load, word, &[other])?;
        self.meet_behind()?;
        Ok(result)
    }

    /// The next set of the wave's words; each has one use.
    fn wave_set(&mut self, index: Word) -> Emitted {
        let shift = self.word(self.wave().trailing_zeros());
        let scratch = self.scratch()?;
        let first = scratch.sets * scratch.threads + scratch.wave_turn * scratch.waves * WAVE_WORDS;
        scratch.wave_turn = (scratch.wave_turn + 1) % scratch.sets;
        let one_wave = scratch.waves == 1;
        let (words, first) = (self.word(WAVE_WORDS), self.word(first));
        if one_wave {
            return Ok(first);
        }
        let wave = self.fold2(S::ShiftRightLogical, index, shift)?;
        let wave = self.fold2(S::IMul, wave, words)?;
        self.fold2(S::IAdd, wave, first)
    }

    /// Both words of a mask's value over the wave.
    fn ballot(&mut self, index: Word, mask: Value, truth: Word) -> Result<[Word; 2], Reason> {
        if let Some(&known) = self.scratch()?.ballots.get(&mask) {
            return Ok(known);
        }
        let word = self.u32();
        let [zero, one, five, thirty_one] = [0, 1, 5, 31].map(|bits| self.word(bits));
        let lane = self.lane_number()?;
        let count = self.op(S::BitwiseAnd, word, &[lane, thirty_one])?;
        let bit = self.op(S::ShiftLeftLogical, word, &[one, count])?;
        let bit = self.op(S::Select, word, &[truth, bit, zero])?;
        let set = self.wave_set(index)?;
        let halves = self.wave() / 32;
        let mut places = Vec::with_capacity(2);
        for half in 0..halves {
            let half = self.word(half);
            let place = self.fold2(S::IAdd, set, half)?;
            let place = self.scratch_element(place)?;
            self.act(S::Store, vec![Operand::IdRef(place), Operand::IdRef(zero)])?;
            places.push(place);
        }
        self.meet()?;
        let half = self.op(S::ShiftRightLogical, word, &[lane, five])?;
        let own = self.fold2(S::IAdd, set, half)?;
        let own = self.scratch_element(own)?;
        let own = self.scratch_place(own);
        self.atomic(Atomic::Or, own, bit, bit)?;
        self.meet()?;
        let mut bits = [zero; 2];
        for (word_of_half, place) in bits.iter_mut().zip(places) {
            *word_of_half = self.op(S::Load, word, &[place])?;
        }
        self.meet_behind()?;
        self.scratch()?.ballots.insert(mask, bits);
        Ok(bits)
    }

    /// The first lane that is on: each proposes its number, the least wins. The last lane where all are off.
    fn first_active(&mut self, index: Word, active: Word) -> Emitted {
        let word = self.u32();
        let last = self.word(self.wave() - 1);
        let lane = self.lane_number()?;
        let proposal = self.op(S::Select, word, &[active, lane, last])?;
        let (set, number) = (self.wave_set(index)?, self.word(FIRST_LANE));
        let place = self.fold2(S::IAdd, set, number)?;
        let place = self.scratch_element(place)?;
        self.act(S::Store, vec![Operand::IdRef(place), Operand::IdRef(last)])?;
        self.meet()?;
        let least = self.scratch_place(place);
        self.atomic(Atomic::UMin, least, proposal, proposal)?;
        self.meet()?;
        let first = self.op(S::Load, word, &[place])?;
        self.meet_behind()?;
        Ok(first)
    }
}
