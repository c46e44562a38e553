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
use std::hash::{Hash as _, Hasher as _};

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

/// What the words of a stage's descriptors came to.
pub(super) struct Recipe {
    stage_use: StageUse,
    words: Box<[u32]>,
    /// Bindings, with walk 0 for the flat words.
    pub bindings: Box<[(u32, BoundResource)]>,
    /// Images that it uses, and whether it writes them.
    pub images: SmallVec<[(ImageId, bool); 4]>,
    /// Guest ranges that it writes.
    pub writes: SmallVec<[GuestRange; 2]>,
    /// What pipelines with this stage are found by.
    pub stage: StageId,
}

/// See the module's text.
#[derive(Resource, Default)]
pub struct RecipeStore {
    /// Images' and memory's generations that the recipes are of.
    generation: (u64, u64),
    recipes: Vec<Recipe>,
    by_hash: HashMap<u64, SmallVec<[RecipeId; 1]>>,
    stages: HashMap<StageKey, StageId>,
    fixed: HashMap<FixedState, FixedId>,
    /// By vertex or compute stage, pixel stage, fixed state.
    pipelines: HashMap<(StageId, Option<StageId>, Option<FixedId>), PipelineId>,
}

impl RecipeStore {
    /// Drops what no longer holds, and everything when there is too much.
    pub(super) fn follow(&mut self, images: u64, memory: u64) {
        if self.generation != (images, memory) || self.recipes.len() >= MOST_RECIPES {
            self.generation = (images, memory);
            self.recipes.clear();
            self.by_hash.clear();
        }
    }

    pub(super) fn get(&self, id: RecipeId) -> &Recipe {
        &self.recipes[id.0 as usize]
    }

    /// The recipe of a use with these words, and the hash to put a new one in with.
    pub(super) fn find(&self, stage_use: &StageUse, words: &[u32]) -> Result<RecipeId, u64> {
        let mut hasher = rapidhash::fast::RapidHasher::default();
        stage_use.hash(&mut hasher);
        words.hash(&mut hasher);
        let hash = hasher.finish();
        let same = |id: &&RecipeId| {
            let recipe = self.get(**id);
            *recipe.words == *words && recipe.stage_use == *stage_use
        };
        let found = self.by_hash.get(&hash).and_then(|ids| ids.iter().find(same));
        found.copied().ok_or(hash)
    }

    /// Puts a recipe in.
    pub(super) fn insert(&mut self, hash: u64, stage_use: StageUse, words: &[u32], made: Made) -> RecipeId {
        let next = StageId(self.stages.len() as u32);
        let stage = *self.stages.entry(made.stage).or_insert(next);
        let id = RecipeId(self.recipes.len() as u32);
        self.recipes.push(Recipe {
            stage_use,
            words: words.into(),
            bindings: made.bindings.into(),
            images: made.images,
            writes: made.writes,
            stage,
        });
        self.by_hash.entry(hash).or_default().push(id);
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
