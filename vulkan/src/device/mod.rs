//! The device: opened once, shared by clones, closed when the last handle made from it is gone.

pub mod feature;
pub mod report;
pub(crate) mod retire;
mod select;
pub(crate) mod tap;

pub use feature::{EnabledFeatures, Feature, Need};
pub use report::{DeviceReport, Limits};
pub use retire::RetireCounts;
pub use tap::CommandLog;

use crate::error::{DeviceError, DriverError, During};
use crate::image::sampler::SamplerCache;
use crate::instance::Instance;
use crate::pipeline::layout::LayoutCache;
use crate::timeline::TimelineValue;
use ash::{ext, khr, vk};
use parking_lot::Mutex;
use retire::{RetireList, Retired};
use std::ffi::{CStr, c_void};
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// Whether the Khronos validation layer watches every call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Validation {
    /// No layer.
    #[default]
    Off,
    /// The layer is loaded; its messages go to the log and to [`Device::validation_messages`].
    On,
}

/// What to open.
#[derive(Debug, Clone, Default)]
pub struct DeviceOptions {
    /// Validation layer.
    pub validation: Validation,
    /// Text that the device's name must contain, whatever its case.
    pub name_filter: Option<String>,
    /// Optional features that this caller can't do without.
    pub required: Vec<Feature>,
    /// Commands can be kept and recorded again ([`Device::keep_commands`]). Costs a call each.
    pub tap: bool,
}

/// An open device. Cheap to clone.
#[derive(Clone)]
pub struct Device {
    pub(crate) inner: Arc<DeviceInner>,
}

pub(crate) struct DeviceInner {
    pub(crate) raw: ash::Device,
    pub(crate) physical: vk::PhysicalDevice,
    pub(crate) queue: vk::Queue,
    pub(crate) queue_family: u32,
    pub(crate) timeline: vk::Semaphore,
    /// The newest value submitted; also the lock that Vulkan wants around the queue.
    pub(crate) submitted: Mutex<TimelineValue>,
    pub(crate) retire: Mutex<RetireList>,
    pub(crate) allocator: ManuallyDrop<vk_mem::Allocator>,
    pub(crate) push_descriptor: khr::push_descriptor::Device,
    /// The functions behind it, with the tap in front where there is one.
    pub(crate) push_calls: khr::push_descriptor::DeviceFn,
    pub(crate) tap: bool,
    pub(crate) memory_host: Option<ext::external_memory_host::Device>,
    pub(crate) debug_utils: Option<ext::debug_utils::Device>,
    pub(crate) pipeline_cache: vk::PipelineCache,
    pub(crate) layouts: LayoutCache,
    pub(crate) samplers: SamplerCache,
    pub(crate) report: DeviceReport,
    /// Last: destroyed after everything above.
    pub(crate) instance: Instance,
}

// SAFETY: ash's function tables and handles are plain data, VMA synchronises itself, and the objects that Vulkan
// wants externally synchronised (queue, caches) are used under the mutexes beside them. The validation sink is
// behind its own mutex.
unsafe impl Send for DeviceInner {}
// SAFETY: as for `Send`.
unsafe impl Sync for DeviceInner {}

impl Device {
    /// Opens the best device that has all that is required.
    ///
    /// # Errors
    /// [`DeviceError`] says what to install where loader, driver or layer are missing, and lists for each device
    /// seen exactly what it lacks.
    pub fn open(options: &DeviceOptions) -> Result<Self, DeviceError> {
        let instance = Instance::open(options.validation)?;
        let mut choice = select::choose(&instance.raw, options)?;
        let priorities = [1.0];
        let queues = [vk::DeviceQueueCreateInfo::default()
            .queue_family_index(choice.queue_family)
            .queue_priorities(&priorities)];
        let names: Vec<_> = choice.extensions.iter().map(|name| name.as_ptr()).collect();
        let extensions = choice.extensions.clone();
        let raw = choice.features.chained(&extensions, |features| {
            let mut info = vk::DeviceCreateInfo::default()
                .queue_create_infos(&queues)
                .enabled_extension_names(&names);
            info.p_next = std::ptr::from_mut(features).cast();
            // SAFETY: the features are a chain of structs that live until the call returns, each with its extension.
            unsafe { instance.raw.create_device(choice.physical, &info, None) }
        });
        let mut raw = raw.during("creating the Vulkan device")?;
        let tapped = |name: &CStr| {
            // SAFETY: the device was just made of this instance.
            let driver = unsafe { instance.raw.get_device_proc_addr(raw.handle(), name.as_ptr()) };
            let driver = driver.map_or(std::ptr::null(), |driver| driver as *const c_void);
            if options.tap {
                tap::put_before(name, driver)
            } else {
                driver
            }
        };
        let push_calls = khr::push_descriptor::DeviceFn::load(tapped);
        if options.tap {
            // SAFETY: these are the device's functions, or fronts of theirs with the same types.
            raw = unsafe { ash::Device::load_with(tapped, raw.handle()) };
        }
        // Until `DeviceInner` exists, whatever fails below must not leave the device behind.
        let parts =
            Parts::create(&instance, &raw, choice.physical, choice.queue_family).inspect_err(|_| {
                // SAFETY: `Parts::create` left nothing alive on the device.
                unsafe { raw.destroy_device(None) };
            })?;
        let has_host = choice.report.features.contains(Feature::ExternalMemoryHost);
        let inner = DeviceInner {
            physical: choice.physical,
            queue: parts.queue,
            queue_family: choice.queue_family,
            timeline: parts.timeline,
            submitted: Mutex::default(),
            retire: Mutex::default(),
            allocator: ManuallyDrop::new(parts.allocator),
            push_descriptor: khr::push_descriptor::Device::new(&instance.raw, &raw),
            push_calls,
            tap: options.tap,
            memory_host: has_host.then(|| ext::external_memory_host::Device::new(&instance.raw, &raw)),
            debug_utils: (instance.debug_utils && options.validation == Validation::On)
                .then(|| ext::debug_utils::Device::new(&instance.raw, &raw)),
            pipeline_cache: parts.pipeline_cache,
            layouts: LayoutCache::default(),
            samplers: SamplerCache::default(),
            report: choice.report,
            raw,
            instance,
        };
        tracing::info!("{}", inner.report);
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// What was opened.
    #[must_use]
    pub fn report(&self) -> &DeviceReport {
        &self.inner.report
    }

    /// Limits of the device.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.inner.report.limits
    }

    /// The function tables of the device and of its push descriptors, for commands that this crate does not wrap.
    #[must_use]
    pub fn raw(&self) -> (&ash::Device, &khr::push_descriptor::Device) {
        (&self.inner.raw, &self.inner.push_descriptor)
    }

    /// What the driver wants to have again to make the same pipelines faster.
    ///
    /// # Errors
    /// When the driver does not give it.
    pub fn pipeline_cache(&self) -> Result<Vec<u8>, DriverError> {
        // SAFETY: the cache is alive with the device; the driver synchronises it.
        unsafe { self.inner.raw.get_pipeline_cache_data(self.inner.pipeline_cache) }
            .during("reading the pipeline cache")
    }

    /// Gives the driver what [`Self::pipeline_cache`] gave, of the same device and driver.
    ///
    /// # Errors
    /// When the driver does not take it.
    pub fn add_pipeline_cache(&self, bytes: &[u8]) -> Result<(), DriverError> {
        let raw = &self.inner.raw;
        let info = vk::PipelineCacheCreateInfo::default().initial_data(bytes);
        // SAFETY: the device is alive; drivers check the header of what they are given.
        let added = unsafe { raw.create_pipeline_cache(&info, None) }.during("creating a pipeline cache")?;
        // SAFETY: both are alive, and nobody else knows the new one.
        let merged = unsafe { raw.merge_pipeline_caches(self.inner.pipeline_cache, &[added]) };
        // SAFETY: nobody uses it.
        unsafe { raw.destroy_pipeline_cache(added, None) };
        merged.during("adding to the pipeline cache")
    }

    /// Keeps all commands that are recorded from now on. Nothing where the device was opened without a tap.
    pub fn keep_commands(&self) {
        if self.inner.tap {
            tap::keep();
        }
    }

    /// Ends keeping, and gives what was kept.
    #[must_use]
    pub fn take_commands(&self) -> CommandLog {
        tap::take()
    }

    /// Records kept commands into a command buffer that is thrown away, `times` times over. `each` is called in front of
    /// the first time and behind each.
    ///
    /// # Errors
    /// When the driver gives no command buffer.
    ///
    /// # Safety
    /// Everything that the commands name is alive.
    pub unsafe fn record_again(
        &self,
        log: &CommandLog,
        times: usize,
        mut each: impl FnMut(),
    ) -> Result<(), DriverError> {
        let raw = &self.inner.raw;
        let info = vk::CommandPoolCreateInfo::default()
            .queue_family_index(self.inner.queue_family)
            .flags(vk::CommandPoolCreateFlags::TRANSIENT);
        // SAFETY: the device is alive.
        let pool = unsafe { raw.create_command_pool(&info, None) }.during("creating a command pool")?;
        let result = (|| {
            let info = vk::CommandBufferAllocateInfo::default()
                .command_pool(pool)
                .level(vk::CommandBufferLevel::PRIMARY)
                .command_buffer_count(1);
            // SAFETY: the pool is this function's own.
            let buffers = unsafe { raw.allocate_command_buffers(&info) }?;
            each();
            for _ in 0..times {
                let info =
                    vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
                // SAFETY: nothing of the pool was ever submitted, and the caller's promise.
                unsafe {
                    raw.reset_command_pool(pool, vk::CommandPoolResetFlags::empty())?;
                    raw.begin_command_buffer(buffers[0], &info)?;
                    log.record(buffers[0]);
                    raw.end_command_buffer(buffers[0])?;
                }
                each();
            }
            Ok(())
        })();
        // SAFETY: nothing of it was submitted.
        unsafe { raw.destroy_command_pool(pool, None) };
        result.during("recording commands again")
    }

    /// Whether `feature` is enabled.
    #[must_use]
    pub fn has(&self, feature: Feature) -> bool {
        self.inner.report.features.contains(feature)
    }

    /// Everything that the validation layer has said since the device was opened.
    #[must_use]
    pub fn validation_messages(&self) -> Vec<String> {
        self.inner.instance.sink.snapshot()
    }

    /// What optimally tiled images of `format` can be used for.
    #[must_use]
    pub fn format_features(&self, format: vk::Format) -> vk::FormatFeatureFlags2 {
        let mut wide = vk::FormatProperties3::default();
        let mut properties = vk::FormatProperties2::default().push_next(&mut wide);
        // SAFETY: the physical device is alive with the instance.
        unsafe {
            self.inner.instance.raw.get_physical_device_format_properties2(
                self.inner.physical,
                format,
                &mut properties,
            );
        }
        wide.optimal_tiling_features
    }

    /// Destroys the dropped objects that the GPU can't be using any more, and returns how many there were.
    ///
    /// # Errors
    /// [`DriverError::DeviceLost`]; nothing is destroyed then.
    pub fn collect(&self) -> Result<usize, DriverError> {
        let completed = self.completed()?;
        let free = self.inner.retire.lock().take_free(completed);
        let count = free.len();
        for object in free {
            // SAFETY: the retire list gives out only what no open or running recording can name.
            unsafe { object.destroy(&self.inner.raw, &self.inner.allocator) };
        }
        Ok(count)
    }

    /// How many dropped objects wait for the GPU, and how many were destroyed.
    #[must_use]
    pub fn retire_counts(&self) -> RetireCounts {
        self.inner.retire.lock().counts()
    }

    pub(crate) fn retire(&self, object: Retired) {
        self.inner.retire.lock().retire(object);
    }

    /// Names a Vulkan object for validation messages and captures; nothing without validation.
    pub(crate) fn name_object<H: vk::Handle>(&self, handle: H, name: &str) {
        let Some(debug) = &self.inner.debug_utils else {
            return;
        };
        let Ok(name) = std::ffi::CString::new(name) else {
            return;
        };
        let info = vk::DebugUtilsObjectNameInfoEXT::default()
            .object_handle(handle)
            .object_name(&name);
        // SAFETY: the handle was just made by this device and is not yet shared with another thread. A name that
        // can't be kept is no reason to fail.
        if let Err(error) = unsafe { debug.set_debug_utils_object_name(&info) } {
            tracing::debug!("a debug name was not kept: {error:?}");
        }
    }
}

/// What is made on a raw device before it is wrapped.
struct Parts {
    queue: vk::Queue,
    timeline: vk::Semaphore,
    pipeline_cache: vk::PipelineCache,
    allocator: vk_mem::Allocator,
}

impl Parts {
    fn create(
        instance: &Instance,
        raw: &ash::Device,
        physical: vk::PhysicalDevice,
        queue_family: u32,
    ) -> Result<Self, DriverError> {
        // SAFETY: one queue of this family was asked for.
        let queue = unsafe { raw.get_device_queue(queue_family, 0) };
        let mut info = vk_mem::AllocatorCreateInfo::new(&instance.raw, raw, physical);
        info.flags = vk_mem::AllocatorCreateFlags::BUFFER_DEVICE_ADDRESS;
        info.vulkan_api_version = vk::API_VERSION_1_3;
        // SAFETY: instance and device outlive the allocator (`DeviceInner::drop`).
        let allocator = unsafe { vk_mem::Allocator::new(info) }.during("creating the memory allocator")?;
        let mut kind = vk::SemaphoreTypeCreateInfo::default()
            .semaphore_type(vk::SemaphoreType::TIMELINE)
            .initial_value(0);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: the device is alive.
        let timeline =
            unsafe { raw.create_semaphore(&info, None) }.during("creating the timeline semaphore")?;
        // SAFETY: the device is alive.
        let cache = unsafe { raw.create_pipeline_cache(&vk::PipelineCacheCreateInfo::default(), None) };
        let pipeline_cache = cache.during("creating the pipeline cache").inspect_err(|_| {
            // SAFETY: nobody uses the semaphore yet.
            unsafe { raw.destroy_semaphore(timeline, None) };
        })?;
        Ok(Self {
            queue,
            timeline,
            pipeline_cache,
            allocator,
        })
    }
}

impl Drop for DeviceInner {
    fn drop(&mut self) {
        // SAFETY: every handle holds the device, so this is the only user left; after the wait nothing runs on it.
        // A lost device answers with an error, and then nothing runs either.
        unsafe {
            if let Err(error) = self.raw.device_wait_idle() {
                tracing::warn!("the device did not become idle before it was closed: {error:?}");
            }
            for object in self.retire.get_mut().take_all() {
                object.destroy(&self.raw, &self.allocator);
            }
            self.samplers.destroy(&self.raw);
            self.layouts.destroy(&self.raw);
            self.raw.destroy_pipeline_cache(self.pipeline_cache, None);
            self.raw.destroy_semaphore(self.timeline, None);
            ManuallyDrop::drop(&mut self.allocator);
            self.raw.destroy_device(None);
        }
    }
}
