//! The dominator tree as intervals, so that a question costs two comparisons.

use super::Function;
use crate::cfg::structured::StructuredId;
use petgraph::algo::dominators::simple_fast;
use petgraph::graph::{DiGraph, NodeIndex};

pub(crate) struct Dominance {
    interval: Vec<(u32, u32)>,
}

impl Dominance {
    pub fn new(function: &Function) -> Self {
        let count = function.blocks.len();
        let mut graph = DiGraph::<(), ()>::with_capacity(count, 2 * count);
        for _ in 0..count {
            graph.add_node(());
        }
        for block in 0..count {
            for to in function.successors(StructuredId(block as u32)) {
                graph.add_edge(NodeIndex::new(block), NodeIndex::new(to.0 as usize), ());
            }
        }
        let tree = simple_fast(&graph, NodeIndex::new(0));
        let mut children = vec![Vec::new(); count];
        for node in 1..count {
            if let Some(parent) = tree.immediate_dominator(NodeIndex::new(node)) {
                children[parent.index()].push(node);
            }
        }
        let mut interval = vec![(u32::MAX, 0); count];
        let mut clock = 0;
        let mut stack = vec![(0, false)];
        while let Some((node, done)) = stack.pop() {
            if done {
                interval[node].1 = clock;
                continue;
            }
            interval[node].0 = clock;
            clock += 1;
            stack.push((node, true));
            stack.extend(children[node].iter().map(|&child| (child, false)));
        }
        Self { interval }
    }

    pub fn is_reached(&self, block: usize) -> bool {
        self.interval[block].0 != u32::MAX
    }

    /// Whether every way to `b` passes `a`.
    pub fn dominates(&self, a: usize, b: usize) -> bool {
        self.is_reached(a)
            && self.interval[a].0 <= self.interval[b].0
            && self.interval[b].0 < self.interval[a].1
    }
}
