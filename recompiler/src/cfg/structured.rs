//! The structured program as blocks with SPIR-V's merge rules.
//!
//! SPIR-V lets a branch leave a construct only to its merge block, to the innermost loop's merge or continue block, or
//! to the innermost switch's merge block. An exit that goes further sets the *route*, a variable, leaves the
//! innermost construct, and is sent on behind it. Irreducible programs become one loop around a switch on the route.

use super::structure::{Piece, structure};
use super::{BlockId, Cfg, Condition, Exit};
use crate::refusal::{Fault, Reason};
use hashbrown::HashMap;

/// Index of a structured block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct StructuredId(pub u32);

/// What a structured branch tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Test {
    /// The guest's own condition.
    Guest(Condition),
    /// The route has this value.
    Route(u32),
}

/// How a structured block ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum StructuredExit {
    End,
    Unreachable,
    Goto(StructuredId),
    Branch {
        test: Test,
        yes: StructuredId,
        no: StructuredId,
    },
    /// On the route: case i goes to the i-th block, everything else to `default`.
    Switch {
        cases: Vec<StructuredId>,
        default: StructuredId,
    },
}

/// The construct a block heads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Merge {
    None,
    Selection(StructuredId),
    Loop {
        merge: StructuredId,
        next_round: StructuredId,
    },
}

/// A block of the structured program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StructuredBlock {
    /// Guest instructions it holds.
    pub code: Option<BlockId>,
    /// Value the route takes at its end.
    pub route: Option<u32>,
    pub exit: StructuredExit,
    pub merge: Merge,
}

enum Scope {
    Loop {
        header: BlockId,
        next_round: StructuredId,
        merge: StructuredId,
        behind: Option<BlockId>,
        passes: Vec<BlockId>,
    },
    Switch {
        merge: StructuredId,
        behind: BlockId,
        passes: Vec<BlockId>,
    },
}

#[derive(Default)]
struct Lowering {
    blocks: Vec<StructuredBlock>,
    scopes: Vec<Scope>,
    routes: HashMap<BlockId, u32>,
    reached: Vec<bool>,
}

/// Structured blocks in an order in which a block comes before all that it dominates. Block 0 is the entry.
///
/// # Errors
/// Only a broken rule of the recompiler.
pub(crate) fn lower(cfg: &Cfg) -> Result<Vec<StructuredBlock>, Fault> {
    let mut lowering = Lowering::default();
    let entry = lowering.block();
    match structure(cfg) {
        Some(pieces) => {
            if lowering.pieces(&pieces, entry, None)?.is_some() {
                return Err(
                    Reason::Internal(String::from("a structured program ends without an end")).into(),
                );
            }
        }
        None => lowering.dispatcher(cfg, entry),
    }
    Ok(lowering.in_order())
}

impl Lowering {
    fn block(&mut self) -> StructuredId {
        self.blocks.push(StructuredBlock {
            code: None,
            route: None,
            exit: StructuredExit::Unreachable,
            merge: Merge::None,
        });
        self.reached.push(false);
        StructuredId(self.blocks.len() as u32 - 1)
    }

    fn at(&mut self, block: StructuredId) -> &mut StructuredBlock {
        &mut self.blocks[block.0 as usize]
    }

    fn goto(&mut self, from: StructuredId, to: StructuredId) {
        self.at(from).exit = StructuredExit::Goto(to);
        self.reached[to.0 as usize] = true;
    }

    /// Lowers `pieces` from the open block `current`. Yields the block that is open where control falls off the end
    /// to `fall`, or `None` when it never does.
    fn pieces(
        &mut self,
        pieces: &[Piece],
        mut current: StructuredId,
        fall: Option<BlockId>,
    ) -> Result<Option<StructuredId>, Fault> {
        for piece in pieces {
            match piece {
                Piece::Code(code) => {
                    if self.at(current).code.is_some() || self.at(current).route.is_some() {
                        let next = self.block();
                        self.goto(current, next);
                        current = next;
                    }
                    self.at(current).code = Some(*code);
                }
                Piece::End => {
                    self.at(current).exit = StructuredExit::End;
                    return Ok(None);
                }
                Piece::Exit(label) if fall == Some(*label) => return Ok(Some(current)),
                Piece::Exit(label) => {
                    self.leave(current, *label)?;
                    return Ok(None);
                }
                Piece::If {
                    condition,
                    taken,
                    next,
                } => {
                    return self.selection(*condition, taken, next, current, fall);
                }
                Piece::Labelled { label, body } => {
                    let open = if falls_to(body, *label) {
                        self.pieces(body, current, Some(*label))?
                    } else {
                        self.one_trip(*label, body, current)?
                    };
                    let Some(open) = open else { return Ok(None) };
                    current = open;
                }
                Piece::Loop { header, body } => return self.repeat(*header, body, current, fall),
            }
        }
        Ok(Some(current))
    }

    fn selection(
        &mut self,
        condition: Condition,
        taken: &[Piece],
        next: &[Piece],
        current: StructuredId,
        fall: Option<BlockId>,
    ) -> Result<Option<StructuredId>, Fault> {
        let merge = self.block();
        let arm = |this: &mut Self, pieces: &[Piece]| -> Result<StructuredId, Fault> {
            if let [Piece::Exit(label)] = pieces
                && fall == Some(*label)
            {
                this.reached[merge.0 as usize] = true;
                return Ok(merge);
            }
            let start = this.block();
            if let Some(open) = this.pieces(pieces, start, fall)? {
                this.goto(open, merge);
            }
            Ok(start)
        };
        let yes = arm(self, taken)?;
        let no = arm(self, next)?;
        let block = self.at(current);
        block.exit = StructuredExit::Branch {
            test: Test::Guest(condition),
            yes,
            no,
        };
        block.merge = Merge::Selection(merge);
        Ok(self.reached[merge.0 as usize].then_some(merge))
    }

    /// A labelled block that is left from inside nested constructs: a switch with one case.
    fn one_trip(
        &mut self,
        label: BlockId,
        body: &[Piece],
        current: StructuredId,
    ) -> Result<Option<StructuredId>, Fault> {
        let head = self.block();
        self.goto(current, head);
        let (inside, merge) = (self.block(), self.block());
        let block = self.at(head);
        block.exit = StructuredExit::Switch {
            cases: Vec::new(),
            default: inside,
        };
        block.merge = Merge::Selection(merge);
        self.scopes.push(Scope::Switch {
            merge,
            behind: label,
            passes: Vec::new(),
        });
        if let Some(open) = self.pieces(body, inside, Some(label))? {
            self.goto(open, merge);
        }
        let passes = match self.scopes.pop() {
            Some(Scope::Switch { passes, .. } | Scope::Loop { passes, .. }) => passes,
            None => Vec::new(),
        };
        self.send_on(merge, &passes, Some(label))
    }

    fn repeat(
        &mut self,
        header: BlockId,
        body: &[Piece],
        current: StructuredId,
        fall: Option<BlockId>,
    ) -> Result<Option<StructuredId>, Fault> {
        let (head, inside) = (self.block(), self.block());
        let (next_round, merge) = (self.block(), self.block());
        self.goto(current, head);
        self.goto(head, inside);
        self.at(head).merge = Merge::Loop { merge, next_round };
        self.scopes.push(Scope::Loop {
            header,
            next_round,
            merge,
            behind: fall,
            passes: Vec::new(),
        });
        if let Some(open) = self.pieces(body, inside, Some(header))? {
            self.goto(open, next_round);
        }
        self.goto(next_round, head);
        let passes = match self.scopes.pop() {
            Some(Scope::Switch { passes, .. } | Scope::Loop { passes, .. }) => passes,
            None => Vec::new(),
        };
        self.send_on(merge, &passes, fall)
    }

    /// Behind a construct: exits that only passed through it are sent on; the rest falls to `fall`.
    fn send_on(
        &mut self,
        merge: StructuredId,
        passes: &[BlockId],
        fall: Option<BlockId>,
    ) -> Result<Option<StructuredId>, Fault> {
        if !self.reached[merge.0 as usize] {
            return Ok(None);
        }
        let mut current = merge;
        for &pass in passes {
            let (away, stay) = (self.block(), self.block());
            let test = Test::Route(self.route(pass));
            let block = self.at(current);
            block.exit = StructuredExit::Branch {
                test,
                yes: away,
                no: stay,
            };
            block.merge = Merge::Selection(stay);
            // The route has done its work unless `leave` sets it again.
            self.at(away).route = Some(0);
            if fall == Some(pass) {
                self.goto(away, stay);
            } else {
                self.leave(away, pass)?;
            }
            current = stay;
        }
        Ok(Some(current))
    }

    fn route(&mut self, label: BlockId) -> u32 {
        let next = self.routes.len() as u32 + 1;
        *self.routes.entry(label).or_insert(next)
    }

    fn leave(&mut self, from: StructuredId, label: BlockId) -> Result<(), Fault> {
        let mut innermost_switch = true;
        let mut routed = None;
        for (index, scope) in self.scopes.iter().enumerate().rev() {
            match scope {
                Scope::Switch { merge, behind, .. } => {
                    if *behind == label {
                        if innermost_switch {
                            let merge = *merge;
                            self.goto(from, merge);
                            return Ok(());
                        }
                        // An outer switch of the same loop: step out of the innermost one.
                        routed = Some(self.scopes.len() - 1);
                        break;
                    }
                    innermost_switch = false;
                }
                Scope::Loop {
                    header,
                    next_round,
                    merge,
                    behind,
                    ..
                } => {
                    let target = if *header == label {
                        Some(*next_round)
                    } else if *behind == Some(label) {
                        Some(*merge)
                    } else {
                        None
                    };
                    if let Some(target) = target {
                        self.goto(from, target);
                        return Ok(());
                    }
                    routed = Some(index);
                    break;
                }
            }
        }
        let Some(index) = routed else {
            return Err(Reason::Internal(format!("no way from a construct to block {}", label.0)).into());
        };
        let route = self.route(label);
        self.at(from).route = Some(route);
        let merge = match &mut self.scopes[index] {
            Scope::Switch { merge, passes, .. } | Scope::Loop { merge, passes, .. } => {
                if !passes.contains(&label) {
                    passes.push(label);
                }
                *merge
            }
        };
        self.goto(from, merge);
        Ok(())
    }

    /// One loop around a switch whose case i is block i.
    fn dispatcher(&mut self, cfg: &Cfg, entry: StructuredId) {
        let (head, switch) = (self.block(), self.block());
        let cases: Vec<_> = cfg.blocks.iter().map(|_| self.block()).collect();
        let (chosen, next_round, merge) = (self.block(), self.block(), self.block());
        self.at(entry).route = Some(0);
        self.goto(entry, head);
        self.goto(head, switch);
        self.at(head).merge = Merge::Loop { merge, next_round };
        let default = cases[0];
        let block = self.at(switch);
        block.exit = StructuredExit::Switch {
            cases: cases.clone(),
            default,
        };
        block.merge = Merge::Selection(chosen);
        for (index, source) in cfg.blocks.iter().enumerate() {
            let case = cases[index];
            self.at(case).code = Some(BlockId(index as u32));
            match source.exit {
                Exit::End => self.at(case).exit = StructuredExit::End,
                Exit::Goto(to) => {
                    self.at(case).route = Some(to.0);
                    self.goto(case, chosen);
                }
                Exit::Branch {
                    condition,
                    taken,
                    next,
                } => {
                    let (yes, no, join) = (self.block(), self.block(), self.block());
                    self.at(yes).route = Some(taken.0);
                    self.at(no).route = Some(next.0);
                    self.goto(yes, join);
                    self.goto(no, join);
                    self.goto(join, chosen);
                    let block = self.at(case);
                    block.exit = StructuredExit::Branch {
                        test: Test::Guest(condition),
                        yes,
                        no,
                    };
                    block.merge = Merge::Selection(join);
                }
            }
        }
        self.goto(chosen, next_round);
        self.goto(next_round, head);
    }

    /// Renumbers the blocks so that each comes before those it dominates: a depth-first walk that visits a
    /// construct's merge block last.
    fn in_order(self) -> Vec<StructuredBlock> {
        let count = self.blocks.len();
        let mut post = Vec::with_capacity(count);
        let mut state = vec![0_u8; count];
        let mut stack = vec![(StructuredId(0), 0_usize)];
        let children = |block: &StructuredBlock| {
            let mut list = Vec::new();
            match block.merge {
                Merge::None => {}
                Merge::Selection(merge) => list.push(merge),
                Merge::Loop { merge, next_round } => list.extend([merge, next_round]),
            }
            match &block.exit {
                StructuredExit::End | StructuredExit::Unreachable => {}
                StructuredExit::Goto(to) => list.push(*to),
                StructuredExit::Branch { yes, no, .. } => list.extend([*no, *yes]),
                StructuredExit::Switch { cases, default } => {
                    list.push(*default);
                    list.extend(cases.iter().rev());
                }
            }
            list
        };
        state[0] = 1;
        while let Some((block, position)) = stack.pop() {
            let list = children(&self.blocks[block.0 as usize]);
            if let Some(&child) = list.get(position) {
                stack.push((block, position + 1));
                if state[child.0 as usize] == 0 {
                    state[child.0 as usize] = 1;
                    stack.push((child, 0));
                }
            } else {
                post.push(block);
            }
        }
        post.reverse();
        let mut number = vec![StructuredId(u32::MAX); count];
        for (position, block) in post.iter().enumerate() {
            number[block.0 as usize] = StructuredId(position as u32);
        }
        let map = |id: StructuredId| number[id.0 as usize];
        post.iter()
            .map(|&old| {
                let block = &self.blocks[old.0 as usize];
                StructuredBlock {
                    code: block.code,
                    route: block.route,
                    merge: match block.merge {
                        Merge::None => Merge::None,
                        Merge::Selection(merge) => Merge::Selection(map(merge)),
                        Merge::Loop { merge, next_round } => Merge::Loop {
                            merge: map(merge),
                            next_round: map(next_round),
                        },
                    },
                    exit: match &block.exit {
                        StructuredExit::End => StructuredExit::End,
                        StructuredExit::Unreachable => StructuredExit::Unreachable,
                        StructuredExit::Goto(to) => StructuredExit::Goto(map(*to)),
                        StructuredExit::Branch { test, yes, no } => StructuredExit::Branch {
                            test: *test,
                            yes: map(*yes),
                            no: map(*no),
                        },
                        StructuredExit::Switch { cases, default } => StructuredExit::Switch {
                            cases: cases.iter().map(|&case| map(case)).collect(),
                            default: map(*default),
                        },
                    },
                }
            })
            .collect()
    }
}

/// Whether every exit of `pieces` to `label` is the last thing on its path, or leaves a loop that comes last.
fn falls_to(pieces: &[Piece], label: BlockId) -> bool {
    let Some((last, before)) = pieces.split_last() else {
        return true;
    };
    if before.iter().any(|piece| mentions(piece, label)) {
        return false;
    }
    match last {
        Piece::If { taken, next, .. } => falls_to(taken, label) && falls_to(next, label),
        Piece::Labelled { .. } => !mentions(last, label),
        Piece::Code(_) | Piece::Loop { .. } | Piece::Exit(_) | Piece::End => true,
    }
}

fn mentions(piece: &Piece, label: BlockId) -> bool {
    let any = |pieces: &[Piece]| pieces.iter().any(|piece| mentions(piece, label));
    match piece {
        Piece::Exit(to) => *to == label,
        Piece::If { taken, next, .. } => any(taken) || any(next),
        Piece::Labelled { body, .. } => any(body),
        Piece::Loop { header, body } => *header != label && any(body),
        Piece::Code(_) | Piece::End => false,
    }
}
