//! Host memory that the GPU reads and writes in place.

use super::buffer::{Backing, Buffer, BufferDescription, MemoryKind};
use crate::device::{Device, Feature};
use crate::error::{During, ImportError};
use ash::vk;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// All that guest memory is used for.
const USAGE: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::STORAGE_BUFFER.as_raw()
        | vk::BufferUsageFlags::UNIFORM_BUFFER.as_raw()
        | vk::BufferUsageFlags::INDEX_BUFFER.as_raw()
        | vk::BufferUsageFlags::VERTEX_BUFFER.as_raw()
        | vk::BufferUsageFlags::INDIRECT_BUFFER.as_raw()
        | vk::BufferUsageFlags::TRANSFER_SRC.as_raw()
        | vk::BufferUsageFlags::TRANSFER_DST.as_raw()
        | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS.as_raw(),
);

/// A window of host memory as one buffer with every usage. Clones share it.
#[derive(Debug, Clone)]
pub struct HostImport {
    buffer: Buffer,
    released: Arc<AtomicBool>,
}

/// Tells when the driver has let go of an import, so that its pages may be unmapped.
#[derive(Debug, Clone)]
pub struct ReleaseToken(Arc<AtomicBool>);

impl ReleaseToken {
    /// Whether the last clone of the import was dropped, the GPU is done with it, and [`Device::collect`] has
    /// destroyed it.
    #[must_use]
    pub fn is_released(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl HostImport {
    /// The window as a buffer; its byte 0 is the window's first byte.
    #[must_use]
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// A token that outlives the import.
    #[must_use]
    pub fn release_token(&self) -> ReleaseToken {
        ReleaseToken(Arc::clone(&self.released))
    }
}

impl Device {
    /// Makes one buffer over `size` bytes of host memory at `pointer`, in place.
    ///
    /// # Safety
    /// The pages stay mapped and readable and writable until the import's [`ReleaseToken`] says so, or the device
    /// is closed.
    ///
    /// # Errors
    /// [`ImportError::Unsupported`] where the device can't; [`ImportError::Misaligned`] where address or size is
    /// no multiple of `Limits::host_import_alignment` (4 KiB on the devices tested); [`ImportError::NoMemoryType`]
    /// where the pages can't be shared coherently; what the driver refused.
    pub unsafe fn import_host(&self, pointer: NonNull<u8>, size: u64) -> Result<HostImport, ImportError> {
        let Some(extension) = self
            .inner
            .memory_host
            .as_ref()
            .filter(|_| self.has(Feature::ExternalMemoryHost))
        else {
            return Err(ImportError::Unsupported {
                device: self.report().name.clone(),
            });
        };
        let address = pointer.addr().get() as u64;
        let alignment = self.limits().host_import_alignment.max(1);
        if size == 0 || !address.is_multiple_of(alignment) || !size.is_multiple_of(alignment) {
            return Err(ImportError::Misaligned {
                address,
                size,
                alignment,
            });
        }
        let raw_device = &self.inner.raw;
        let handle_type = vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;
        let mut host = vk::MemoryHostPointerPropertiesEXT::default();
        // SAFETY: the extension is enabled; by contract the pages are mapped.
        unsafe {
            (extension.fp().get_memory_host_pointer_properties_ext)(
                raw_device.handle(),
                handle_type,
                pointer.as_ptr().cast(),
                &raw mut host,
            )
        }
        .result()
        .during("asking how host memory can be imported")?;

        let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(handle_type);
        let info = vk::BufferCreateInfo::default()
            .size(size)
            .usage(USAGE)
            .push_next(&mut external);
        // SAFETY: the description is complete.
        let raw =
            unsafe { raw_device.create_buffer(&info, None) }.during("creating a buffer over host memory")?;
        let bound = self.bind_host(raw, pointer, size, host.memory_type_bits);
        let memory = bound.inspect_err(|_| {
            // SAFETY: nobody else has the buffer.
            unsafe { raw_device.destroy_buffer(raw, None) };
        })?;
        let released = Arc::new(AtomicBool::new(false));
        let description = BufferDescription {
            size,
            usage: USAGE,
            memory: MemoryKind::HostVisible,
        };
        let backing = Backing::Imported(memory, Arc::clone(&released));
        // No mapping is published: guest memory has its own door, and its own rules.
        Ok(HostImport {
            buffer: Buffer::new(self, raw, &description, None, backing),
            released,
        })
    }

    fn bind_host(
        &self,
        buffer: vk::Buffer,
        pointer: NonNull<u8>,
        size: u64,
        host_types: u32,
    ) -> Result<vk::DeviceMemory, ImportError> {
        let device = &self.inner.raw;
        let address = pointer.addr().get() as u64;
        // SAFETY: the buffer was just made.
        let needs = unsafe { device.get_buffer_memory_requirements(buffer) };
        if needs.size > size {
            return Err(ImportError::TooSmall {
                needed: needs.size,
                size,
            });
        }
        // SAFETY: the physical device is alive.
        let memory = unsafe {
            self.inner
                .instance
                .raw
                .get_physical_device_memory_properties(self.inner.physical)
        };
        let usable = needs.memory_type_bits & host_types;
        let candidates = || (0..memory.memory_type_count).filter(|index| usable >> index & 1 == 1);
        let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let coherent = |index: &u32| {
            memory.memory_types[*index as usize]
                .property_flags
                .contains(wanted)
        };
        let index = candidates().find(coherent).ok_or(ImportError::NoMemoryType {
            address,
            host_types,
            buffer_types: needs.memory_type_bits,
        })?;
        let mut import = vk::ImportMemoryHostPointerInfoEXT::default()
            .handle_type(vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT)
            .host_pointer(pointer.as_ptr().cast());
        let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(size)
            .memory_type_index(index)
            .push_next(&mut import)
            .push_next(&mut flags);
        // SAFETY: pointer and size are aligned and, by the caller's contract, mapped; the type takes both sides.
        let memory = unsafe { device.allocate_memory(&info, None) }.during("importing host memory")?;
        // SAFETY: the memory is as large as the buffer needs and not bound to anything.
        unsafe { device.bind_buffer_memory(buffer, memory, 0) }
            .during("binding imported host memory")
            .inspect_err(|_| {
                // SAFETY: nothing is bound to it.
                unsafe { device.free_memory(memory, None) };
            })?;
        Ok(memory)
    }
}
