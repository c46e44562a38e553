//! Which branches decide whether a resource is used: the plan's blocks.
//!
//! Of the program's blocks the plan keeps those that can still lead to a resource whose use is not certain. Branches
//! that a plan can't compute are taken both ways.

use crate::ir::{Function, Terminator};
use crate::plan::{Guard, NodeId, PlanBlock, ResourcePlan};
use smallvec::SmallVec;

/// A block on its way into the plan.
#[derive(Clone)]
struct Block {
    condition: Option<NodeId>,
    successors: SmallVec<[usize; 2]>,
}

/// The program's branches with the conditions that `condition` finds for their blocks.
pub(crate) struct Branches(Vec<Block>);

impl Branches {
    pub(crate) fn new(function: &Function, mut condition: impl FnMut(usize) -> Option<NodeId>) -> Self {
        let blocks = (0..function.blocks.len()).map(|number| {
            let mut block = Block {
                condition: None,
                successors: SmallVec::new(),
            };
            match &function.blocks[number].terminator {
                Terminator::Branch { yes, no, .. } if yes != no => {
                    block.successors.extend([yes.0 as usize, no.0 as usize]);
                    block.condition = condition(number);
                }
                Terminator::Branch { yes, .. } => block.successors.push(yes.0 as usize),
                Terminator::Jump(to) => block.successors.push(to.0 as usize),
                Terminator::Switch { cases, default, .. } => {
                    let all = cases.iter().chain([default]).map(|to| to.0 as usize);
                    block.successors.extend(all);
                    block.successors.sort_unstable();
                    block.successors.dedup();
                }
                Terminator::Return | Terminator::Unreachable => {}
            }
            block
        });
        Self(blocks.collect())
    }

    /// Blocks that are reached whatever the conditions are.
    fn certain(&self) -> Vec<bool> {
        (0..self.0.len()).map(|block| !self.avoids(block)).collect()
    }

    /// Whether some outcome of the conditions leads past `goal`.
    fn avoids(&self, goal: usize) -> bool {
        let mut avoids = vec![true; self.0.len()];
        avoids[goal] = false;
        loop {
            let mut changed = false;
            for (number, block) in self.0.iter().enumerate().rev() {
                let mut ways = block.successors.iter().map(|next| avoids[*next]);
                let still = match block.condition {
                    Some(_) => ways.any(|way| way),
                    None => ways.all(|way| way),
                };
                if avoids[number] && !still {
                    avoids[number] = false;
                    changed = true;
                }
            }
            if !changed {
                return avoids[0];
            }
        }
    }

    /// Blocks that can still lead to one of `goals`, those among them.
    fn leading_to(&self, goals: &[bool]) -> Vec<bool> {
        let mut leads = goals.to_vec();
        loop {
            let mut changed = false;
            for (number, block) in self.0.iter().enumerate().rev() {
                if !leads[number] && block.successors.iter().any(|next| leads[*next]) {
                    leads[number] = true;
                    changed = true;
                }
            }
            if !changed {
                return leads;
            }
        }
    }

    /// Blocks from the start on in reverse postorder.
    fn order(&self, kept: &[bool]) -> Vec<usize> {
        let mut order = Vec::new();
        let mut seen = vec![false; self.0.len()];
        // A block and the next of its successors to visit.
        let mut open = vec![(0, 0)];
        seen[0] = true;
        while let Some((block, next)) = open.last_mut() {
            match self.0[*block].successors.get(*next) {
                Some(&successor) => {
                    *next += 1;
                    if kept[successor] && !std::mem::replace(&mut seen[successor], true) {
                        open.push((successor, 0));
                    }
                }
                None => {
                    order.push(*block);
                    open.pop();
                }
            }
        }
        order.reverse();
        order
    }

    /// Puts the blocks that decide over `users` into the plan, where users of one resource are the blocks that use it.
    /// Returns the resources' guards.
    pub(crate) fn plan(&self, users: &[Vec<usize>], plan: &mut ResourcePlan) -> Vec<Guard> {
        let always = vec![Guard::default(); users.len()];
        if self.0.iter().all(|block| block.condition.is_none()) {
            return always;
        }
        let certain = self.certain();
        let depends = |users: &[usize]| !users.is_empty() && users.iter().all(|block| !certain[*block]);
        let mut goals = vec![false; self.0.len()];
        for block in users.iter().filter(|users| depends(users)).flatten() {
            goals[*block] = true;
        }
        let kept = self.leading_to(&goals);
        if !kept[0] {
            return always;
        }
        let order = self.order(&kept);
        let mut number = vec![None; self.0.len()];
        for (at, block) in order.iter().enumerate() {
            number[*block] = u16::try_from(at).ok();
        }
        if order.len() > usize::from(u16::MAX) {
            return always;
        }
        // Where a branch leaves what is kept: a block that leads nowhere.
        let nowhere = order.len() as u16;
        for block in &order {
            let block = &self.0[*block];
            let first = plan.edges.len();
            let edges = block.successors.iter().map(|next| number[*next]);
            if block.condition.is_some() {
                plan.edges.extend(edges.map(|edge| edge.unwrap_or(nowhere)));
            } else {
                plan.edges.extend(edges.flatten());
            }
            plan.blocks.push(PlanBlock {
                condition: block.condition,
                first: first as u16,
                count: (plan.edges.len() - first) as u16,
            });
        }
        if plan.edges.contains(&nowhere) {
            plan.blocks.push(PlanBlock {
                condition: None,
                first: 0,
                count: 0,
            });
        }
        let guards = users.iter().map(|users| {
            if !depends(users) {
                return Guard::default();
            }
            let first = plan.guards.len();
            plan.guards
                .extend(users.iter().filter_map(|block| number[*block]));
            Guard {
                first: first as u16,
                count: (plan.guards.len() - first) as u16,
            }
        });
        let guards = guards.collect();
        if plan.edges.len().max(plan.guards.len()) > usize::from(u16::MAX) {
            // Too much to number: everything counts as used.
            plan.blocks.clear();
            plan.edges.clear();
            plan.guards.clear();
            return always;
        }
        guards
    }
}
