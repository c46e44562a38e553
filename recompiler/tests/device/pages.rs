//! The page table of programs that follow guest pointers.

use super::device::Device;
use ash::vk;

impl Device {
    /// The device's address of the memory buffer.
    pub fn address(&self) -> u64 {
        let buffer = self.buffer.as_ref().expect("allocated").buffer;
        let info = vk::BufferDeviceAddressInfo::default().buffer(buffer);
        // SAFETY: the buffer was made with this usage and memory for it; the feature is enabled where it is there.
        unsafe { self.device.get_buffer_device_address(&info) }
    }

    /// Gives programs that follow guest pointers their page table.
    pub fn set_page_table(&mut self, words: &[u64]) {
        let table = self.mapped(8 * words.len() as u64, vk::BufferUsageFlags::STORAGE_BUFFER);
        // SAFETY: the mapping holds that many words.
        unsafe { std::ptr::copy_nonoverlapping(words.as_ptr().cast::<u8>(), table.bytes, 8 * words.len()) };
        if let Some(old) = self.page_table.replace(table) {
            self.free(&old);
        }
    }
}
