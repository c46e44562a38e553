//! The program store: every shader program that a draw or dispatch has named, analysed once.

use std::sync::{Arc, OnceLock};

use bevy_ecs::prelude::*;
use hashbrown::HashMap;
use relic_components::shader::ProgramId;
use relic_core::{GuestAddress, GuestRange, MemoryReader, pack::Key};
use relic_recompiler::{Dialect, Profile, Program, ShaderBinary, StageRegisters, analyse};

use crate::{
    resources::{Look, Looks},
    shader_cache::program_key,
    shader_pool::ShaderPool,
};

/// What a program is analysed from, beside its code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ProgramKey {
    /// First instruction.
    pub address: GuestAddress,
    /// Registers that shape it.
    pub stage: StageRegisters,
    /// Encodings.
    pub dialect: Dialect,
}

/// A program with the address it was analysed for.
#[derive(Debug)]
pub struct Analysed {
    /// The program.
    pub program: Program,
    /// Its first instruction.
    pub address: GuestAddress,
    /// Words of its flat block.
    pub flat_words: u32,
    /// What its stages are found by, beside their shapes.
    pub key: Key,
}

impl std::ops::Deref for Analysed {
    type Target = Program;

    fn deref(&self) -> &Program {
        &self.program
    }
}

/// Result of an analysis: the program, or why it was refused.
pub type Analysis = Result<Arc<Analysed>, String>;

struct Entry {
    slot: Arc<OnceLock<Analysis>>,
    code: Arc<[u32]>,
    look: Look,
}

/// See the module's text.
#[derive(Resource, Default)]
pub struct ProgramStore {
    by_key: HashMap<ProgramKey, ProgramId>,
    entries: Vec<Entry>,
}

/// Most words of a program. Code is read up to the end of its region or this.
const MOST_WORDS: u64 = 1 << 16;

impl ProgramStore {
    /// The program of a key. A new one is handed to the pool; one whose code has changed is analysed again under a new
    /// id.
    ///
    /// # Errors
    /// When its code is not mapped.
    pub fn find_or_start(
        &mut self,
        key: &ProgramKey,
        looks: &mut Looks<'_>,
        pool: &ShaderPool,
        profile: &Profile,
    ) -> Result<ProgramId, String> {
        if let Some(&id) = self.by_key.get(key) {
            let entry = &mut self.entries[id.0 as usize];
            let analysis = entry.slot.get().and_then(|analysis| analysis.as_ref().ok());
            let used = analysis.map_or(entry.code.len(), |program| {
                program.code_words().min(entry.code.len())
            });
            let range = GuestRange::new(key.address, 4 * used as u64);
            if looks.stands(&mut entry.look, [range])
                || same_code(looks.memory, key.address, &entry.code[..used])
            {
                return Ok(id);
            }
        }
        let code: Arc<[u32]> = read_code(looks.memory, key.address)?.into();
        let slot = Arc::new(OnceLock::new());
        let id = ProgramId(self.entries.len() as u32);
        self.entries.push(Entry {
            slot: Arc::clone(&slot),
            code: Arc::clone(&code),
            look: Look::default(),
        });
        self.by_key.insert(*key, id);
        let (key, profile) = (*key, *profile);
        pool.run(move || {
            relic_core::zone!("analyse program");
            let binary = ShaderBinary {
                stage: key.stage,
                dialect: key.dialect,
                address: key.address,
                code: &code,
            };
            let analysis = analyse(&binary, &profile)
                .map(|program| {
                    Arc::new(Analysed {
                        flat_words: program.plan().flat_words(),
                        key: program_key(&code, &program, key.dialect, &profile),
                        program,
                        address: key.address,
                    })
                })
                .map_err(|refusal| format!("the program at {} can't be recompiled: {refusal}", key.address));
            // Only this job fills the slot.
            let _ = slot.set(analysis);
        });
        Ok(id)
    }

    /// The analysis of a program, `None` while the pool is at it.
    #[must_use]
    pub fn get(&self, id: ProgramId) -> Option<&Analysis> {
        self.entries.get(id.0 as usize)?.slot.get()
    }

    /// How many programs there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

fn read_code(memory: &MemoryReader, address: GuestAddress) -> Result<Vec<u32>, String> {
    let unmapped = || format!("the program at {address} is not in mapped memory");
    let region = memory.region(address).ok_or_else(unmapped)?;
    let words = ((region.range().end().0 - address.0) / 4).min(MOST_WORDS);
    let mut code = vec![0; words as usize];
    memory.read_words(address, &mut code).map_err(|_| unmapped())?;
    Ok(code)
}

fn same_code(memory: &MemoryReader, address: GuestAddress, code: &[u32]) -> bool {
    memory.is_mapped(GuestRange::new(address, 4 * code.len() as u64))
        && code.chunks(64).enumerate().all(|(i, chunk)| {
            let mut now = [0; 64];
            let now = &mut now[..chunk.len()];
            memory
                .read_words(GuestAddress(address.0 + 256 * i as u64), now)
                .is_ok()
                && now == chunk
        })
}
