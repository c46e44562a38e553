//! A ring of mapped memory for data that lives for one submission: uniform data of draws, staging.

use super::buffer::{Buffer, BufferDescription, BufferRange, MemoryKind};
use crate::device::Device;
use crate::error::StreamError;
use crate::timeline::TimelineValue;
use ash::vk;

/// How a stream grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamDescription {
    /// Bytes of one block. A larger request gets a block of its own size.
    pub block_size: u64,
    /// Bytes that all blocks together never exceed.
    pub limit: u64,
    /// What the memory is used for; `TRANSFER_SRC` is added, for staging.
    pub usage: vk::BufferUsageFlags,
}

impl Default for StreamDescription {
    /// Blocks of 4 MiB, at most 256 MiB, for storage, uniform and index data and copies.
    fn default() -> Self {
        Self {
            block_size: 4 << 20,
            limit: 256 << 20,
            usage: vk::BufferUsageFlags::STORAGE_BUFFER
                | vk::BufferUsageFlags::UNIFORM_BUFFER
                | vk::BufferUsageFlags::INDEX_BUFFER
                | vk::BufferUsageFlags::INDIRECT_BUFFER
                | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS,
        }
    }
}

struct Block {
    buffer: Buffer,
    head: u64,
    /// Every slice of the block is done with when this completes.
    until: TimelineValue,
}

/// The ring. Owned by whoever fills it; several may exist.
pub struct StreamBuffer {
    device: Device,
    description: StreamDescription,
    /// The last one is being filled; the others wait for the GPU, oldest first.
    blocks: std::collections::VecDeque<Block>,
    held: u64,
}

/// Fresh bytes of a stream: written now, kept as `range`.
pub struct StreamSlice<'a> {
    /// The bytes. Their content is undefined; writing front to back is fastest (the memory may be write-combined).
    pub bytes: &'a mut [u8],
    /// The same bytes for recording. It may outlive the borrow.
    pub range: BufferRange,
}

impl Device {
    /// Makes an empty stream; blocks are made when they are needed.
    #[must_use]
    pub fn create_stream(&self, description: StreamDescription) -> StreamBuffer {
        StreamBuffer {
            device: self.clone(),
            description,
            blocks: std::collections::VecDeque::new(),
            held: 0,
        }
    }
}

impl StreamBuffer {
    /// Bytes of all blocks.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Blocks that exist.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// `size` bytes at an offset that is a multiple of `alignment` (a power of two). They are reused once the GPU has
    /// completed `until`, which is the submission that reads them ([`Device::next_value`]).
    ///
    /// # Errors
    /// [`StreamError::Full`] when the bound is reached and nothing has completed yet; it never waits.
    pub fn alloc(
        &mut self,
        size: u64,
        alignment: u64,
        until: TimelineValue,
    ) -> Result<StreamSlice<'_>, StreamError> {
        if !alignment.is_power_of_two() || alignment > 1 << 16 {
            return Err(StreamError::Alignment { alignment });
        }
        // A slice of 0 bytes can't be bound; a caller with nothing to say still gets a valid one.
        let size = size.max(1);
        let fits = self.blocks.back().and_then(|block| place(block, size, alignment));
        let offset = match fits {
            Some(offset) => offset,
            None => {
                self.next_block(size)?;
                0
            }
        };
        let Some(block) = self.blocks.back_mut() else {
            return Err(StreamError::TooLarge {
                size,
                limit: self.description.limit,
            });
        };
        block.head = offset + size;
        block.until = block.until.max(until);
        let Some(mapped) = block.buffer.mapped() else {
            return Err(crate::error::MemoryError::NotMapped.into());
        };
        // SAFETY: `place` and `next_block` keep `offset + size` inside the block. The bytes were handed out to nobody
        // since the GPU completed the block's last use: `head` only grows until then, and the borrow of `self` ends
        // before they can be handed out again.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(mapped.add(offset as usize).as_ptr(), size as usize) };
        Ok(StreamSlice {
            bytes,
            range: BufferRange::new(block.buffer.clone(), offset, size),
        })
    }

    /// Copies `bytes` into the stream.
    ///
    /// # Errors
    /// As [`Self::alloc`].
    pub fn push(
        &mut self,
        bytes: &[u8],
        alignment: u64,
        until: TimelineValue,
    ) -> Result<BufferRange, StreamError> {
        let slice = self.alloc(bytes.len() as u64, alignment, until)?;
        slice.bytes[..bytes.len()].copy_from_slice(bytes);
        Ok(slice.range)
    }

    /// Makes a block with room for `size` bytes the last one: one the GPU is done with, or a new one.
    fn next_block(&mut self, size: u64) -> Result<(), StreamError> {
        let StreamDescription {
            block_size,
            limit,
            usage,
        } = self.description;
        if size > limit {
            return Err(StreamError::TooLarge { size, limit });
        }
        let completed = self.device.completed()?;
        let done = |block: &Block| block.until <= completed;
        if let Some(index) = self
            .blocks
            .iter()
            .position(|block| done(block) && block.buffer.size() >= size)
            && let Some(mut block) = self.blocks.remove(index)
        {
            block.head = 0;
            self.blocks.push_back(block);
            return Ok(());
        }
        let wanted = size.max(block_size.min(limit));
        // Blocks that are done with and too small give way before the bound refuses.
        while self.held + wanted > limit {
            let Some(index) = self.blocks.iter().position(done) else {
                break;
            };
            if let Some(block) = self.blocks.remove(index) {
                self.held -= block.buffer.size();
            }
        }
        if self.held + wanted > limit {
            let oldest = self
                .blocks
                .iter()
                .map(|block| block.until)
                .min()
                .unwrap_or_default();
            return Err(StreamError::Full {
                held: self.held,
                limit,
                size,
                oldest,
            });
        }
        let buffer = self.device.create_buffer(&BufferDescription {
            size: wanted,
            usage: usage | vk::BufferUsageFlags::TRANSFER_SRC,
            memory: MemoryKind::HostVisible,
        })?;
        self.held += wanted;
        self.blocks.push_back(Block {
            buffer,
            head: 0,
            until: TimelineValue::default(),
        });
        Ok(())
    }
}

/// Where `size` bytes fit behind what the block already holds.
fn place(block: &Block, size: u64, alignment: u64) -> Option<u64> {
    let offset = block.head.next_multiple_of(alignment);
    (offset.checked_add(size)? <= block.buffer.size()).then_some(offset)
}
