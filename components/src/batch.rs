//! Batches: the rows of one queue's work on their way from packets to recorded commands.
//!
//! Every row belongs to one command of the ordered list [`Commands`]. Commit walks that list, so that a plug-in's
//! packet between two draws takes effect between them.

use hashbrown::HashMap;
use std::any::Any;

use bevy_ecs::prelude::*;
use relic_core::{GuestAddress, GuestRange};

use crate::{
    queue::{DecodeWait, Fault, PacketPosition},
    registers::{CONTEXT_REGISTERS, SHADER_REGISTERS},
};

/// A packet type's number, given when it was added to the runtime.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PacketTypeId(pub u16);

impl PacketTypeId {
    /// Not a packet: a barrier that a satisfied wait became.
    pub const BARRIER: Self = Self(u16::MAX);
}

/// One row of the stream: which packet type, and which row of that type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommandRow {
    /// The type.
    pub packet: PacketTypeId,
    /// Index in the type's column.
    pub row: u32,
    /// Range of the row's CPU reads in [`Accesses::cpu_reads`].
    pub cpu_reads: (u32, u32),
    /// Range of the row's writes in [`Accesses::writes`].
    pub writes: (u32, u32),
}

/// The stream in order.
#[derive(Component, Default, Debug)]
pub struct Commands {
    /// Rows.
    pub rows: Vec<CommandRow>,
    /// Where each row's packet stood.
    pub positions: Vec<PacketPosition>,
    /// Rows before this one are committed.
    pub committed: usize,
    /// First row that must not be committed in this run; set by Prepare and Hazard.
    pub cut: usize,
    /// What the decoder stopped for: the queue waits for it once the rows are committed.
    pub wait: Option<DecodeWait>,
    /// A fault takes effect when Commit reaches this row: (row index, what).
    pub fault: Option<(usize, Box<Fault>)>,
}

/// Guest ranges that rows touch.
#[derive(Component, Default, Debug)]
pub struct Accesses {
    /// Ranges that the CPU reads to make a row: descriptors, argument records, register lists.
    pub cpu_reads: Vec<GuestRange>,
    /// Ranges that the GPU writes when it executes a row.
    pub writes: Vec<GuestRange>,
    /// Ranges that the decoder has read while draws in front were not committed: (row that came next, range). What
    /// a draw writes is known only when it is prepared; one that writes such a range has made the decoder read too
    /// early.
    pub decode_reads: Vec<(u32, GuestRange)>,
}

/// The rows of every packet type, one typed column each. A plug-in's systems reach their own rows by
/// [`PacketRows::column`].
#[derive(Component, Default)]
pub struct PacketRows {
    /// Column of packet type i.
    pub columns: Vec<Box<dyn Column>>,
}

/// One column: a `Vec` of some packet type.
pub trait Column: Any + Send + Sync {
    /// Removes all rows and keeps the memory.
    fn clear(&mut self);
    /// How many rows there are.
    fn len(&self) -> usize;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// For the typed view.
    fn as_any(&self) -> &dyn Any;
    /// For the typed view.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T: Send + Sync + 'static> Column for Vec<T> {
    fn clear(&mut self) {
        Vec::clear(self);
    }
    fn len(&self) -> usize {
        Vec::len(self)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

impl PacketRows {
    /// The rows of packet type `T` in this batch, in stream order; empty when the type is not registered.
    #[must_use]
    pub fn column<T: 'static>(&self) -> &[T] {
        self.columns
            .iter()
            .find_map(|column| column.as_any().downcast_ref::<Vec<T>>())
            .map_or(&[], Vec::as_slice)
    }
}

/// Registers as they stood at one or more draws or dispatches.
#[derive(Clone, Debug)]
pub struct StateSnapshot {
    /// Context bank.
    pub context: Box<[u32; CONTEXT_REGISTERS]>,
    /// Shader bank.
    pub shader: Box<[u32; SHADER_REGISTERS]>,
    /// VGT_PRIMITIVE_TYPE, VGT_INDEX_TYPE, GE_INDX_OFFSET, GE_MULTI_PRIM_IB_RESET_EN.
    pub primitive_type: u32,
    /// See above.
    pub index_offset: u32,
    /// See above.
    pub restart: u32,
}

/// Snapshots of a batch. Draws refer to them by index; draws with the same state share one.
#[derive(Component, Default, Debug)]
pub struct Snapshots {
    /// In the order of their first use.
    pub states: Vec<StateSnapshot>,
    /// Where the state with a hash is.
    pub by_hash: HashMap<u128, u32>,
    /// The register banks' generation at the newest use, and the snapshot used.
    pub newest: Option<(u64, u32)>,
    /// Boxes to use again.
    pub spare: Vec<StateSnapshot>,
}

/// Where a draw's vertices come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DrawSource {
    /// Vertices 0 to `count`.
    Auto {
        /// How many.
        count: u32,
    },
    /// Indices from guest memory.
    Indexed {
        /// First index's address.
        address: GuestAddress,
        /// How many are drawn.
        count: u32,
        /// How many there are: the rest reads as index 0.
        limit: u32,
        /// 0 = 16 bits, 1 = 32 bits, 2 = 8 bits.
        index_type: u32,
    },
}

/// One draw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Draw {
    /// Its place in [`Commands`].
    pub command: u32,
    /// Its state in [`Snapshots`].
    pub state: u32,
    /// Its user data in [`Draws::user_data`]: first word of the vertex stage's 32.
    pub vertex_user_data: u32,
    /// First word of the pixel stage's 32.
    pub pixel_user_data: u32,
    /// Vertices.
    pub source: DrawSource,
    /// Instances.
    pub instances: u32,
}

/// User-data registers of a graphics stage.
pub const GRAPHICS_USER_DATA: usize = 32;
/// User-data registers of a compute program.
pub const COMPUTE_USER_DATA: usize = 16;

/// The draws of a batch.
#[derive(Component, Default, Debug)]
pub struct Draws {
    /// Rows.
    pub rows: Vec<Draw>,
    /// User-data registers at each draw.
    pub user_data: Vec<u32>,
}

/// One dispatch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dispatch {
    /// Its place in [`Commands`].
    pub command: u32,
    /// Its state in [`Snapshots`].
    pub state: u32,
    /// First of its 16 words in [`Dispatches::user_data`].
    pub user_data: u32,
    /// Workgroups in each direction; 1 each where the GPU reads them.
    pub groups: [u32; 3],
    /// Address of three words that the GPU reads the workgroups from.
    pub arguments: Option<GuestAddress>,
    /// Dispatch initiator word of the packet.
    pub initiator: u32,
}

/// The dispatches of a batch.
#[derive(Component, Default, Debug)]
pub struct Dispatches {
    /// Rows.
    pub rows: Vec<Dispatch>,
    /// User-data registers at each dispatch.
    pub user_data: Vec<u32>,
}
