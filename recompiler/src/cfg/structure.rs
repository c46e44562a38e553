//! Reducible graphs as nested blocks and loops.
//!
//! The dominator tree gives the nesting: a node that several edges reach forward becomes the end of a labelled
//! block around its dominator, a node with a back edge becomes a loop, and everything else is inlined where it is
//! branched to. What lies behind a loop is placed behind it, not in the arm that leaves it, so that lanes meet again
//! there.

use super::{BlockId, Cfg, Condition, Exit};
use petgraph::algo::dominators::simple_fast;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::DfsPostOrder;

/// Deepest nesting that is structured; deeper graphs take the dispatcher. Bounds the stack.
const MAX_DEPTH: u32 = 200;

/// A piece of structured code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Piece {
    /// The instructions of a basic block.
    Code(BlockId),
    /// `body`, whose exits to `label` continue behind it.
    Labelled { label: BlockId, body: Vec<Piece> },
    /// A loop whose exits to `header` start the next round.
    Loop { header: BlockId, body: Vec<Piece> },
    /// Two arms.
    If {
        condition: Condition,
        taken: Vec<Piece>,
        next: Vec<Piece>,
    },
    /// To the end of the enclosing block labelled so, or to the next round of that loop.
    Exit(BlockId),
    /// The program ends.
    End,
}

struct Builder<'a> {
    cfg: &'a Cfg,
    /// Position in reverse post-order.
    order: Vec<u32>,
    header: Vec<bool>,
    labelled: Vec<bool>,
    /// Children of the dominator tree that belong to the same loop, by rising order.
    within: Vec<Vec<BlockId>>,
    /// For loop headers: nodes placed behind the loop, by rising order.
    behind: Vec<Vec<BlockId>>,
}

/// The program as nested pieces, or `None` where the graph is irreducible or nests too deeply.
pub(crate) fn structure(cfg: &Cfg) -> Option<Vec<Piece>> {
    let count = cfg.blocks.len();
    let mut graph = DiGraph::<(), ()>::with_capacity(count, 2 * count);
    for _ in 0..count {
        graph.add_node(());
    }
    let ids = || (0..count as u32).map(BlockId);
    for block in ids() {
        for to in cfg.successors(block) {
            graph.add_edge(
                NodeIndex::new(block.0 as usize),
                NodeIndex::new(to.0 as usize),
                (),
            );
        }
    }
    let root = NodeIndex::new(0);
    let mut post = DfsPostOrder::new(&graph, root);
    let mut postorder = Vec::with_capacity(count);
    while let Some(node) = post.next(&graph) {
        postorder.push(node.index());
    }
    let mut order = vec![u32::MAX; count];
    for (position, &node) in postorder.iter().rev().enumerate() {
        order[node] = position as u32;
    }
    let dominators = simple_fast(&graph, root);
    let dominates = |a: usize, b: usize| {
        dominators
            .dominators(NodeIndex::new(b))
            .is_some_and(|mut chain| chain.any(|node| node.index() == a))
    };
    let mut header = vec![false; count];
    let mut forward = vec![0_u32; count];
    let mut back_edges = Vec::new();
    for &from in &postorder {
        for to in cfg.successors(BlockId(from as u32)) {
            let to = to.0 as usize;
            if order[to] <= order[from] {
                if !dominates(to, from) {
                    return None;
                }
                header[to] = true;
                back_edges.push((from, to));
            } else {
                forward[to] += 1;
            }
        }
    }
    // Natural loops: which headers' loops each node lies in.
    let mut loops: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut sizes = vec![0_usize; count];
    let mut headers: Vec<usize> = (0..count).filter(|&node| header[node]).collect();
    headers.sort_by_key(|&node| order[node]);
    for &head in &headers {
        let mut inside = vec![false; count];
        inside[head] = true;
        let mut work: Vec<usize> = back_edges
            .iter()
            .filter(|edge| edge.1 == head)
            .map(|edge| edge.0)
            .collect();
        while let Some(node) = work.pop() {
            if std::mem::replace(&mut inside[node], true) {
                continue;
            }
            work.extend(
                graph
                    .neighbors_directed(NodeIndex::new(node), petgraph::Direction::Incoming)
                    .map(NodeIndex::index)
                    .filter(|&from| order[from] != u32::MAX),
            );
        }
        for (node, loops) in loops.iter_mut().enumerate() {
            if inside[node] {
                loops.push(head);
                sizes[head] += 1;
            }
        }
    }
    let mut builder = Builder {
        cfg,
        order,
        header,
        labelled: vec![false; count],
        within: vec![Vec::new(); count],
        behind: vec![Vec::new(); count],
    };
    for &node in postorder.iter().rev().skip(1) {
        let parent = dominators.immediate_dominator(NodeIndex::new(node))?.index();
        let left = loops[parent]
            .iter()
            .filter(|head| !loops[node].contains(head))
            .max_by_key(|head| sizes[**head]);
        if let Some(&outermost) = left {
            builder.labelled[node] = true;
            builder.behind[outermost].push(BlockId(node as u32));
        } else {
            builder.labelled[node] = forward[node] > 1;
            if builder.labelled[node] {
                builder.within[parent].push(BlockId(node as u32));
            }
        }
    }
    builder.tree(BlockId(0), 0)
}

impl Builder<'_> {
    fn tree(&self, node: BlockId, depth: u32) -> Option<Vec<Piece>> {
        if depth > MAX_DEPTH {
            return None;
        }
        let index = node.0 as usize;
        let mut pieces = vec![Piece::Code(node)];
        match self.cfg.blocks[index].exit {
            Exit::End => pieces.push(Piece::End),
            Exit::Goto(to) => pieces.extend(self.branch(node, to, depth)?),
            Exit::Branch {
                condition,
                taken,
                next,
            } => pieces.push(Piece::If {
                condition,
                taken: self.branch(node, taken, depth + 1)?,
                next: self.branch(node, next, depth + 1)?,
            }),
        }
        pieces = self.label(pieces, &self.within[index], depth)?;
        if self.header[index] {
            pieces = vec![Piece::Loop {
                header: node,
                body: pieces,
            }];
            pieces = self.label(pieces, &self.behind[index], depth)?;
        }
        Some(pieces)
    }

    fn label(&self, mut pieces: Vec<Piece>, ends: &[BlockId], depth: u32) -> Option<Vec<Piece>> {
        // Each end wraps what came before it, so the last one is nested shallowest.
        for &end in ends {
            pieces = vec![Piece::Labelled {
                label: end,
                body: pieces,
            }];
            pieces.extend(self.tree(end, depth + 1)?);
        }
        Some(pieces)
    }

    fn branch(&self, from: BlockId, to: BlockId, depth: u32) -> Option<Vec<Piece>> {
        let backward = self.order[to.0 as usize] <= self.order[from.0 as usize];
        if backward || self.labelled[to.0 as usize] {
            return Some(vec![Piece::Exit(to)]);
        }
        self.tree(to, depth + 1)
    }
}
