//! Buffers and ranges of them.

use crate::device::Device;
use crate::device::retire::Retired;
use crate::error::{During, MemoryError};
use ash::vk;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use vk_mem::Alloc;

/// Where a buffer's memory lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryKind {
    /// Fastest for the GPU; the CPU reaches it by copies.
    DeviceLocal,
    /// Mapped and coherent, written by the CPU front to back and read by the GPU. The CPU reads it slowly (it may be
    /// write-combined).
    HostVisible,
    /// Mapped and coherent, cached for reading by the CPU.
    Readback,
}

/// What buffer to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferDescription {
    /// Size in bytes, not 0.
    pub size: u64,
    /// What it is used for. With `SHADER_DEVICE_ADDRESS` it has a [`Buffer::device_address`].
    pub usage: vk::BufferUsageFlags,
    /// Where it lies.
    pub memory: MemoryKind,
}

pub(crate) enum Backing {
    Allocated(vk_mem::Allocation),
    Imported(vk::DeviceMemory, Arc<AtomicBool>),
}

struct BufferInner {
    device: Device,
    raw: vk::Buffer,
    size: u64,
    usage: vk::BufferUsageFlags,
    address: Option<vk::DeviceAddress>,
    mapped: Option<NonNull<u8>>,
    /// `None` only while dropping.
    backing: Option<Backing>,
}

// SAFETY: the mapping's pointer is plain data; access through it is under the contracts of `Buffer::read` and
// `Buffer::write`, or exclusive to a stream or readback.
unsafe impl Send for BufferInner {}
// SAFETY: as for `Send`.
unsafe impl Sync for BufferInner {}

impl Drop for BufferInner {
    fn drop(&mut self) {
        match self.backing.take() {
            Some(Backing::Allocated(allocation)) => {
                self.device.retire(Retired::Buffer(self.raw, allocation));
            }
            Some(Backing::Imported(memory, released)) => {
                self.device
                    .retire(Retired::ImportedBuffer(self.raw, memory, released));
            }
            None => {}
        }
    }
}

/// A buffer. Clones share it.
#[derive(Clone)]
pub struct Buffer {
    inner: Arc<BufferInner>,
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({:?}, {:#x} bytes)", self.inner.raw, self.inner.size)
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Buffer {}

impl Device {
    /// Makes a buffer.
    ///
    /// # Errors
    /// [`MemoryError::Empty`], or what the driver refused.
    pub fn create_buffer(&self, description: &BufferDescription) -> Result<Buffer, MemoryError> {
        if description.size == 0 {
            return Err(MemoryError::Empty);
        }
        let info = vk::BufferCreateInfo::default()
            .size(description.size)
            .usage(description.usage)
            .sharing_mode(vk::SharingMode::EXCLUSIVE);
        let mapped = vk_mem::AllocationCreateFlags::MAPPED;
        let coherent = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let placement = match description.memory {
            MemoryKind::DeviceLocal => vk_mem::AllocationCreateInfo {
                usage: vk_mem::MemoryUsage::AutoPreferDevice,
                ..Default::default()
            },
            MemoryKind::HostVisible => vk_mem::AllocationCreateInfo {
                usage: vk_mem::MemoryUsage::Auto,
                flags: vk_mem::AllocationCreateFlags::HOST_ACCESS_SEQUENTIAL_WRITE | mapped,
                required_flags: coherent,
                ..Default::default()
            },
            MemoryKind::Readback => vk_mem::AllocationCreateInfo {
                usage: vk_mem::MemoryUsage::AutoPreferHost,
                flags: vk_mem::AllocationCreateFlags::HOST_ACCESS_RANDOM | mapped,
                required_flags: coherent,
                ..Default::default()
            },
        };
        // SAFETY: `info` and `placement` are complete, and the device is alive.
        let (raw, allocation) =
            unsafe { self.inner.allocator.create_buffer(&info, &placement) }.during("creating a buffer")?;
        let mapped = self.inner.allocator.get_allocation_info(&allocation).mapped_data;
        let mapped = if description.memory == MemoryKind::DeviceLocal {
            None
        } else {
            NonNull::new(mapped.cast::<u8>())
        };
        Ok(Buffer::new(
            self,
            raw,
            description,
            mapped,
            Backing::Allocated(allocation),
        ))
    }
}

impl Buffer {
    pub(crate) fn new(
        device: &Device,
        raw: vk::Buffer,
        description: &BufferDescription,
        mapped: Option<NonNull<u8>>,
        backing: Backing,
    ) -> Self {
        let has_address = description
            .usage
            .contains(vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS);
        let address = has_address.then(|| {
            let info = vk::BufferDeviceAddressInfo::default().buffer(raw);
            // SAFETY: the buffer has memory bound and the usage flag; the feature is required of every device.
            unsafe { device.inner.raw.get_buffer_device_address(&info) }
        });
        Self {
            inner: Arc::new(BufferInner {
                device: device.clone(),
                raw,
                size: description.size,
                usage: description.usage,
                address,
                mapped,
                backing: Some(backing),
            }),
        }
    }

    /// The Vulkan handle, valid while a clone of this lives (and until the device's retire list lets go).
    #[must_use]
    pub fn raw(&self) -> vk::Buffer {
        self.inner.raw
    }

    /// Size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.inner.size
    }

    /// Usages it was made with.
    #[must_use]
    pub fn usage(&self) -> vk::BufferUsageFlags {
        self.inner.usage
    }

    /// Address for shaders, where the usage `SHADER_DEVICE_ADDRESS` was asked for.
    #[must_use]
    pub fn device_address(&self) -> Option<vk::DeviceAddress> {
        self.inner.address
    }

    /// The first mapped byte, for memory the CPU reaches. The pointer lives as long as the buffer.
    #[must_use]
    pub fn mapped(&self) -> Option<NonNull<u8>> {
        self.inner.mapped
    }

    /// Names the buffer in validation messages and captures.
    pub fn set_name(&self, name: &str) {
        self.inner.device.name_object(self.inner.raw, name);
    }

    /// All of it.
    #[must_use]
    pub fn whole(&self) -> BufferSlice<'_> {
        BufferSlice {
            buffer: self,
            offset: 0,
            size: self.inner.size,
        }
    }

    /// `size` bytes from `offset`.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`], or [`MemoryError::Empty`] for no bytes.
    pub fn slice(&self, offset: u64, size: u64) -> Result<BufferSlice<'_>, MemoryError> {
        self.check(offset, size)?;
        if size == 0 {
            return Err(MemoryError::Empty);
        }
        Ok(BufferSlice {
            buffer: self,
            offset,
            size,
        })
    }

    fn check(&self, offset: u64, size: u64) -> Result<(), MemoryError> {
        match offset.checked_add(size) {
            Some(end) if end <= self.inner.size => Ok(()),
            _ => Err(MemoryError::OutOfRange {
                offset,
                size,
                buffer_size: self.inner.size,
            }),
        }
    }

    fn bytes_at(&self, offset: u64, size: usize) -> Result<NonNull<u8>, MemoryError> {
        self.check(offset, size as u64)?;
        let mapped = self.inner.mapped.ok_or(MemoryError::NotMapped)?;
        let offset = usize::try_from(offset).map_err(|_| MemoryError::NotMapped)?;
        // SAFETY: `offset` lies inside the mapping, whose length is the buffer's size.
        Ok(unsafe { mapped.add(offset) })
    }

    /// Copies `bytes` into mapped memory.
    ///
    /// # Safety
    /// No other thread and no running GPU work touches these bytes during the call.
    ///
    /// # Errors
    /// [`MemoryError::NotMapped`] and [`MemoryError::OutOfRange`].
    pub unsafe fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let target = self.bytes_at(offset, bytes.len())?;
        // SAFETY: `target` has room for the bytes, and by contract nobody else touches them.
        unsafe { target.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
        Ok(())
    }

    /// Copies mapped memory into `bytes`.
    ///
    /// # Safety
    /// No other thread and no running GPU work writes these bytes during the call.
    ///
    /// # Errors
    /// [`MemoryError::NotMapped`] and [`MemoryError::OutOfRange`].
    pub unsafe fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), MemoryError> {
        let source = self.bytes_at(offset, bytes.len())?;
        // SAFETY: `source` has that many bytes, and by contract nobody writes them.
        unsafe { source.copy_to_nonoverlapping(NonNull::from(&mut *bytes).cast(), bytes.len()) };
        Ok(())
    }
}

/// Bytes of a buffer, borrowed for recording.
#[derive(Debug, Clone, Copy)]
pub struct BufferSlice<'a> {
    pub(crate) buffer: &'a Buffer,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

impl<'a> BufferSlice<'a> {
    /// The buffer.
    #[must_use]
    pub fn buffer(&self) -> &'a Buffer {
        self.buffer
    }

    /// First byte.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Length in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Address of the first byte for shaders, where the buffer has one.
    #[must_use]
    pub fn device_address(&self) -> Option<vk::DeviceAddress> {
        self.buffer.device_address().map(|address| address + self.offset)
    }
}

/// Bytes of a buffer, kept: it holds the buffer alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BufferRange {
    buffer: Buffer,
    offset: u64,
    size: u64,
}

impl BufferRange {
    pub(crate) fn new(buffer: Buffer, offset: u64, size: u64) -> Self {
        Self { buffer, offset, size }
    }

    /// The bytes, for recording.
    #[must_use]
    pub fn slice(&self) -> BufferSlice<'_> {
        BufferSlice {
            buffer: &self.buffer,
            offset: self.offset,
            size: self.size,
        }
    }

    /// First byte.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Length in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Address of the first byte for shaders, where the buffer has one.
    #[must_use]
    pub fn device_address(&self) -> Option<vk::DeviceAddress> {
        self.slice().device_address()
    }
}
