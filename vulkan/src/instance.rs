//! The loader, the instance and the collector of validation messages.

use crate::device::Validation;
use crate::error::{DeviceError, During};
use ash::{ext, vk};
use parking_lot::Mutex;
use std::ffi::{CStr, c_void};

const VALIDATION_LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

/// Messages of the validation layer, in order of arrival.
#[derive(Default)]
pub(crate) struct MessageSink {
    messages: Mutex<Vec<String>>,
}

impl MessageSink {
    pub(crate) fn snapshot(&self) -> Vec<String> {
        self.messages.lock().clone()
    }
}

/// Instance with its loader. Destroyed on drop, after the device that was made from it.
pub(crate) struct Instance {
    /// Keeps the loader library open.
    pub(crate) _entry: ash::Entry,
    pub(crate) raw: ash::Instance,
    pub(crate) debug_utils: bool,
    messenger: Option<(ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT)>,
    /// Boxed: the messenger holds its address.
    pub(crate) sink: Box<MessageSink>,
}

unsafe extern "system" fn collect_message(
    severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    kind: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    user: *mut c_void,
) -> vk::Bool32 {
    if data.is_null() || user.is_null() {
        return vk::FALSE;
    }
    // SAFETY: the loader passes valid callback data, and `user` is the sink that the instance keeps boxed for as
    // long as the messenger exists.
    let (data, sink) = unsafe { (&*data, &*user.cast::<MessageSink>()) };
    let text = if data.p_message.is_null() {
        "(no text)".into()
    } else {
        // SAFETY: a message that is not null is a string that lives during the call.
        unsafe { CStr::from_ptr(data.p_message) }.to_string_lossy()
    };
    if kind.contains(vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION) {
        if severity.contains(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR) {
            tracing::error!(target: "vulkan::validation", "{text}");
        } else {
            tracing::warn!(target: "vulkan::validation", "{text}");
        }
        sink.messages.lock().push(text.into_owned());
    } else {
        // The loader's own remarks: a driver that is not for this machine, a layer of an old version.
        tracing::debug!(target: "vulkan::loader", "{text}");
    }
    vk::FALSE
}

fn messenger_info(sink: &MessageSink) -> vk::DebugUtilsMessengerCreateInfoEXT<'static> {
    vk::DebugUtilsMessengerCreateInfoEXT::default()
        .message_severity(
            vk::DebugUtilsMessageSeverityFlagsEXT::ERROR | vk::DebugUtilsMessageSeverityFlagsEXT::WARNING,
        )
        .message_type(
            vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION | vk::DebugUtilsMessageTypeFlagsEXT::GENERAL,
        )
        .pfn_user_callback(Some(collect_message))
        .user_data(std::ptr::from_ref(sink).cast_mut().cast())
}

impl Instance {
    /// Opens the loader and makes an instance of Vulkan 1.3.
    pub(crate) fn open(validation: Validation) -> Result<Self, DeviceError> {
        // SAFETY: loading the system's Vulkan loader runs its initialisers, which are sound to run at any time.
        let entry = unsafe { ash::Entry::load() }.map_err(|error| DeviceError::NoLoader {
            reason: error.to_string(),
        })?;
        // SAFETY: the entry points are loaded; this holds for the other calls on `entry` below too.
        let version =
            unsafe { entry.try_enumerate_instance_version() }.during("asking the loader's version")?;
        let version = version.unwrap_or(vk::API_VERSION_1_0);
        if version < vk::API_VERSION_1_3 {
            let (major, minor) = (vk::api_version_major(version), vk::api_version_minor(version));
            return Err(DeviceError::LoaderTooOld {
                found: format!("{major}.{minor}"),
            });
        }
        let mut layers = Vec::new();
        if validation == Validation::On {
            // SAFETY: as above.
            let found =
                unsafe { entry.enumerate_instance_layer_properties() }.during("listing Vulkan layers")?;
            if !found
                .iter()
                .any(|layer| layer.layer_name_as_c_str() == Ok(VALIDATION_LAYER))
            {
                return Err(DeviceError::NoValidationLayer);
            }
            layers.push(VALIDATION_LAYER.as_ptr());
        }
        let has_extension = |layer: Option<&CStr>| -> Result<bool, DeviceError> {
            // SAFETY: as above.
            let found = unsafe { entry.enumerate_instance_extension_properties(layer) }
                .during("listing instance extensions")?;
            Ok(found
                .iter()
                .any(|e| e.extension_name_as_c_str() == Ok(ext::debug_utils::NAME)))
        };
        let debug_utils =
            has_extension(None)? || (validation == Validation::On && has_extension(Some(VALIDATION_LAYER))?);
        let mut extensions = Vec::new();
        if debug_utils {
            extensions.push(ext::debug_utils::NAME.as_ptr());
        }

        let sink = Box::<MessageSink>::default();
        let application = vk::ApplicationInfo::default()
            .application_name(c"Relic")
            .engine_name(c"Relic")
            .api_version(vk::API_VERSION_1_3);
        let mut chained_messenger = messenger_info(&sink);
        let mut info = vk::InstanceCreateInfo::default()
            .application_info(&application)
            .enabled_layer_names(&layers)
            .enabled_extension_names(&extensions);
        let watch = debug_utils && validation == Validation::On;
        if watch {
            info = info.push_next(&mut chained_messenger);
        }
        // SAFETY: all pointers in `info` live until the call returns; the sink outlives the instance.
        let raw = match unsafe { entry.create_instance(&info, None) } {
            Err(vk::Result::ERROR_INCOMPATIBLE_DRIVER) => {
                return Err(DeviceError::NoDriver {
                    reason: "no driver speaks this version of Vulkan".into(),
                });
            }
            result => result.during("creating the Vulkan instance")?,
        };
        let mut instance = Self {
            _entry: entry,
            raw,
            debug_utils,
            messenger: None,
            sink,
        };
        if watch {
            let loader = ext::debug_utils::Instance::new(&instance._entry, &instance.raw);
            // SAFETY: the sink is boxed and dropped after the messenger is destroyed.
            let messenger =
                unsafe { loader.create_debug_utils_messenger(&messenger_info(&instance.sink), None) }
                    .during("creating the validation messenger")?;
            instance.messenger = Some((loader, messenger));
        }
        Ok(instance)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some((loader, messenger)) = self.messenger.take() {
            // SAFETY: made from this instance and used by nobody else.
            unsafe { loader.destroy_debug_utils_messenger(messenger, None) };
        }
        // SAFETY: the device is destroyed before its instance (field order of the device's state).
        unsafe { self.raw.destroy_instance(None) };
    }
}
