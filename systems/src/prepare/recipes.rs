//! Recipes: what the descriptors of a program came to the last time that they had the same words.
//!
//! Titles draw with the same descriptors frame after frame, often from other places in memory. So a stage is looked up
//! by its program and its descriptors' words, and whatever follows from these alone (bindings, the images and ranges it
//! touches, what is baked into its code) is made once. Recipes are dropped as a whole when images come or go, or when
//! memory is mapped or unmapped.

use bevy_ecs::prelude::*;
use hashbrown::HashMap;
use relic_components::{
    pipeline::PipelineId,
    shader::ProgramId,
    work::{BoundResource, ImageId},
};
use relic_core::GuestRange;
use relic_recompiler::{FlatLocation, NumericClass};
use smallvec::SmallVec;
use std::{
    hash::{Hash as _, Hasher as _},
    ops::Range,
};

use super::{pipelines::StageKey, state::FixedState};

/// Recipes at most; beyond, all are dropped and made again as they are needed.
const MOST_RECIPES: usize = 1 << 16;

/// What a recipe is looked up by, beside the words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct StageUse {
    pub program: ProgramId,
    /// Binding of the first descriptor.
    pub base: u32,
    /// Where the flat words are.
    pub flat: FlatLocation,
    /// What the colour targets hold.
    pub classes: [NumericClass; 8],
}

/// Index of a recipe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RecipeId(u32);

/// Index of a stage key that pipelines were made of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct StageId(u32);

/// Index of a fixed state that pipelines were made of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct FixedId(u32);

/// What the words of a stage's descriptors came to. Its parts are ranges of the store's vectors.
struct Recipe {
    stage_use: StageUse,
    words: Range<u32>,
    bindings: Range<u32>,
    images: Range<u32>,
    writes: Range<u32>,
    /// What pipelines with this stage are found by.
    stage: StageId,
    /// The recipe that was asked for after this one the last time.
    next: RecipeId,
}

/// See the module's text.
#[derive(Resource, Default)]
pub struct RecipeStore {
    /// Images' and memory's generations that the recipes are of.
    generation: (u64, u64),
    recipes: Vec<Recipe>,
    /// Parts of all recipes. Recipes are made in the order in which a frame asks for them, and the next frame mostly asks
    /// in the same order: so what is read lies one behind the other.
    words: Vec<u32>,
    bindings: Vec<(u32, BoundResource)>,
    images: Vec<(ImageId, bool)>,
    writes: Vec<GuestRange>,
    by_hash: HashMap<u64, SmallVec<[RecipeId; 1]>>,
    /// The recipe asked for last.
    last: Option<RecipeId>,
    stages: HashMap<StageKey, StageId>,
    fixed: HashMap<FixedState, FixedId>,
    /// By vertex or compute stage, pixel stage, fixed state.
    pipelines: HashMap<(StageId, Option<StageId>, Option<FixedId>), PipelineId>,
}

fn part<'a, T>(all: &'a [T], range: &Range<u32>) -> &'a [T] {
    &all[range.start as usize..range.end as usize]
}

/// Appends a part and returns where it is.
fn keep<T: Copy>(all: &mut Vec<T>, part: &[T]) -> Range<u32> {
    let start = all.len() as u32;
    all.extend_from_slice(part);
    start..all.len() as u32
}

impl RecipeStore {
    /// Drops what no longer holds, and everything when there is too much.
    pub(super) fn follow(&mut self, images: u64, memory: u64) {
        if self.generation != (images, memory) || self.recipes.len() >= MOST_RECIPES {
            self.generation = (images, memory);
            self.recipes.clear();
            self.words.clear();
            self.bindings.clear();
            self.images.clear();
            self.writes.clear();
            self.by_hash.clear();
            self.last = None;
        }
    }

    /// Bindings of a recipe, with walk 0 for the flat words.
    pub(super) fn bindings(&self, id: RecipeId) -> &[(u32, BoundResource)] {
        part(&self.bindings, &self.get(id).bindings)
    }

    /// Images that a recipe uses, and whether it writes them.
    pub(super) fn images(&self, id: RecipeId) -> &[(ImageId, bool)] {
        part(&self.images, &self.get(id).images)
    }

    /// Guest ranges that a recipe writes.
    pub(super) fn writes(&self, id: RecipeId) -> &[GuestRange] {
        part(&self.writes, &self.get(id).writes)
    }

    /// What pipelines with a recipe's stage are found by.
    pub(super) fn stage(&self, id: RecipeId) -> StageId {
        self.get(id).stage
    }

    fn get(&self, id: RecipeId) -> &Recipe {
        &self.recipes[id.0 as usize]
    }

    fn is_of(&self, id: RecipeId, stage_use: &StageUse, words: &[u32]) -> bool {
        let recipe = self.get(id);
        recipe.stage_use == *stage_use && part(&self.words, &recipe.words) == words
    }

    /// The recipe of a use with these words, and else the hash to put a new one in with.
    pub(super) fn find(&mut self, stage_use: &StageUse, words: &[u32]) -> Result<RecipeId, u64> {
        let expected = self.last.map(|last| self.get(last).next);
        if let Some(id) = expected.filter(|id| self.is_of(*id, stage_use, words)) {
            self.last = Some(id);
            return Ok(id);
        }
        let mut hasher = rapidhash::fast::RapidHasher::default();
        stage_use.hash(&mut hasher);
        words.hash(&mut hasher);
        let hash = hasher.finish();
        let ids = self.by_hash.get(&hash).map_or(&[][..], SmallVec::as_slice);
        let found = ids.iter().copied().find(|id| self.is_of(*id, stage_use, words));
        let id = found.ok_or(hash)?;
        self.follow_on(id);
        Ok(id)
    }

    /// Notes that `id` was asked for after the last one.
    fn follow_on(&mut self, id: RecipeId) {
        if let Some(last) = self.last.replace(id) {
            self.recipes[last.0 as usize].next = id;
        }
    }

    /// Puts a recipe in.
    pub(super) fn insert(&mut self, hash: u64, stage_use: StageUse, words: &[u32], made: Made) -> RecipeId {
        let next = StageId(self.stages.len() as u32);
        let stage = *self.stages.entry(made.stage).or_insert(next);
        let id = RecipeId(self.recipes.len() as u32);
        let recipe = Recipe {
            stage_use,
            words: keep(&mut self.words, words),
            bindings: keep(&mut self.bindings, &made.bindings),
            images: keep(&mut self.images, &made.images),
            writes: keep(&mut self.writes, &made.writes),
            stage,
            next: id,
        };
        self.recipes.push(recipe);
        self.by_hash.entry(hash).or_default().push(id);
        self.follow_on(id);
        id
    }

    /// Number of a fixed state.
    pub(super) fn fixed(&mut self, state: &FixedState) -> FixedId {
        if let Some(id) = self.fixed.get(state) {
            return *id;
        }
        let id = FixedId(self.fixed.len() as u32);
        self.fixed.insert(state.clone(), id);
        id
    }

    /// The pipeline of stages and a fixed state, made by `make` the first time.
    pub(super) fn pipeline(
        &mut self,
        stages: (StageId, Option<StageId>),
        fixed: Option<FixedId>,
        make: impl FnOnce(&dyn Fn(StageId) -> Option<StageKey>) -> Option<PipelineId>,
    ) -> Option<PipelineId> {
        let key = (stages.0, stages.1, fixed);
        if let Some(id) = self.pipelines.get(&key) {
            return Some(*id);
        }
        let stage = |id: StageId| {
            let found = self.stages.iter().find(|(_, known)| **known == id);
            found.map(|(key, _)| key.clone())
        };
        let id = make(&stage)?;
        self.pipelines.insert(key, id);
        Some(id)
    }
}

/// What a recipe is made of.
pub(super) struct Made {
    pub stage: StageKey,
    pub bindings: Vec<(u32, BoundResource)>,
    pub images: SmallVec<[(ImageId, bool); 4]>,
    pub writes: SmallVec<[GuestRange; 2]>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use relic_recompiler::Specialization;

    fn stage_use(program: u32) -> StageUse {
        StageUse {
            program: ProgramId(program),
            base: 0,
            flat: FlatLocation::PushConstants { offset: 0 },
            classes: [NumericClass::Float; 8],
        }
    }

    fn made(program: u32, binding: u32) -> Made {
        Made {
            stage: StageKey {
                program: ProgramId(program),
                specialization: Specialization::default(),
            },
            bindings: vec![(binding, BoundResource::NullSampled)],
            images: SmallVec::new(),
            writes: SmallVec::new(),
        }
    }

    #[test]
    fn recipes_are_found_by_use_and_words_until_images_or_memory_change() {
        let mut store = RecipeStore::default();
        let uses = [(1, [7, 8]), (1, [7, 9]), (2, [7, 8])];
        for (number, (program, words)) in uses.iter().enumerate() {
            let stage_use = stage_use(*program);
            let hash = store.find(&stage_use, words).unwrap_err();
            store.insert(hash, stage_use, words, made(*program, number as u32));
        }
        // In the order in which they came, backwards, and the same one again.
        for number in [0, 1, 2, 2, 1, 0, 0] {
            let (program, words) = uses[number];
            let id = store.find(&stage_use(program), &words).unwrap();
            assert_eq!(store.bindings(id)[0].0, number as u32);
        }
        let ids = uses.map(|(program, words)| store.find(&stage_use(program), &words).unwrap());
        // Programs make stages, words do not.
        assert_eq!(store.stage(ids[0]), store.stage(ids[1]));
        assert_ne!(store.stage(ids[0]), store.stage(ids[2]));
        store.follow(0, 0);
        assert!(store.find(&stage_use(1), &[7, 8]).is_ok());
        for (images, memory) in [(1, 0), (1, 1)] {
            store.follow(images, memory);
            let hash = store.find(&stage_use(1), &[7, 8]).unwrap_err();
            store.insert(hash, stage_use(1), &[7, 8], made(1, 5));
        }
    }
}
