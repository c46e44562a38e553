//! Every feature this crate asks for, in one table: its name, whether it is required, its extension, and the field
//! that reports and enables it. Checking, enabling and reporting all walk this table.

use ash::{ext, khr, vk};
use std::ffi::CStr;
use std::fmt;

/// Whether a device without the feature can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A device without it is refused.
    Required,
    /// Enabled where present; callers ask [`super::Device::has`].
    Optional,
}

/// Feature structs of a device, either as it reports them or as they are to be enabled.
#[derive(Default, Clone, Copy)]
pub(crate) struct FeatureSet {
    pub(crate) core: vk::PhysicalDeviceFeatures,
    pub(crate) v11: vk::PhysicalDeviceVulkan11Features<'static>,
    pub(crate) v12: vk::PhysicalDeviceVulkan12Features<'static>,
    pub(crate) v13: vk::PhysicalDeviceVulkan13Features<'static>,
    robustness2: vk::PhysicalDeviceRobustness2FeaturesEXT<'static>,
    dynamic2: vk::PhysicalDeviceExtendedDynamicState2FeaturesEXT<'static>,
    dynamic3: vk::PhysicalDeviceExtendedDynamicState3FeaturesEXT<'static>,
    library: vk::PhysicalDeviceGraphicsPipelineLibraryFeaturesEXT<'static>,
    depth_clip_enable: vk::PhysicalDeviceDepthClipEnableFeaturesEXT<'static>,
    depth_clip_control: vk::PhysicalDeviceDepthClipControlFeaturesEXT<'static>,
    border: vk::PhysicalDeviceCustomBorderColorFeaturesEXT<'static>,
    barycentric: vk::PhysicalDeviceFragmentShaderBarycentricFeaturesKHR<'static>,
    restart: vk::PhysicalDevicePrimitiveTopologyListRestartFeaturesEXT<'static>,
    provoking: vk::PhysicalDeviceProvokingVertexFeaturesEXT<'static>,
}

impl FeatureSet {
    /// Runs `with` on a chain of the structs whose extension is in `extensions`. The chain's pointers are
    /// cleared afterwards, so the set can be copied and chained again.
    pub(crate) fn chained<R>(
        &mut self,
        extensions: &[&CStr],
        with: impl FnOnce(&mut vk::PhysicalDeviceFeatures2<'_>) -> R,
    ) -> R {
        let mut features = vk::PhysicalDeviceFeatures2::default()
            .features(self.core)
            .push_next(&mut self.v11)
            .push_next(&mut self.v12)
            .push_next(&mut self.v13);
        macro_rules! chain {
            ($($field:ident: $extension:expr),* $(,)?) => {
                $(if extensions.contains(&$extension) {
                    features = features.push_next(&mut self.$field);
                })*
            };
        }
        chain!(
            robustness2: ext::robustness2::NAME,
            dynamic2: ext::extended_dynamic_state2::NAME,
            dynamic3: ext::extended_dynamic_state3::NAME,
            library: ext::graphics_pipeline_library::NAME,
            depth_clip_enable: ext::depth_clip_enable::NAME,
            depth_clip_control: ext::depth_clip_control::NAME,
            border: ext::custom_border_color::NAME,
            barycentric: khr::fragment_shader_barycentric::NAME,
            restart: ext::primitive_topology_list_restart::NAME,
            provoking: ext::provoking_vertex::NAME,
        );
        let answer = with(&mut features);
        let core = features.features;
        self.core = core;
        macro_rules! unchain {
            ($($field:ident),* $(,)?) => { $(self.$field.p_next = std::ptr::null_mut();)* };
        }
        unchain!(
            v11,
            v12,
            v13,
            robustness2,
            dynamic2,
            dynamic3,
            library,
            depth_clip_enable,
            depth_clip_control,
            border,
            barycentric,
            restart,
            provoking,
        );
        answer
    }
}

/// One row of the feature table.
pub(crate) struct FeatureRow {
    pub(crate) feature: Feature,
    pub(crate) name: &'static str,
    pub(crate) need: Need,
    pub(crate) extension: Option<&'static CStr>,
    /// `None`: the extension's presence is the feature.
    pub(crate) field: Option<fn(&mut FeatureSet) -> &mut vk::Bool32>,
}

macro_rules! features {
    ($($variant:ident $name:literal $need:ident $extension:expr, $field:expr;)*) => {
        /// A feature of the device, by the name Vulkan gives it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Feature {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        pub(crate) const TABLE: &[FeatureRow] = &[
            $(FeatureRow {
                feature: Feature::$variant,
                name: $name,
                need: Need::$need,
                extension: $extension,
                field: $field,
            },)*
        ];
    };
}

const ROBUSTNESS2: Option<&CStr> = Some(ext::robustness2::NAME);
const DYNAMIC2: Option<&CStr> = Some(ext::extended_dynamic_state2::NAME);
const DYNAMIC3: Option<&CStr> = Some(ext::extended_dynamic_state3::NAME);
const BORDER: Option<&CStr> = Some(ext::custom_border_color::NAME);

features! {
    // What the recorder itself is built on.
    DynamicRendering "dynamicRendering" Required None, Some(|s| &mut s.v13.dynamic_rendering);
    Synchronization2 "synchronization2" Required None, Some(|s| &mut s.v13.synchronization2);
    Maintenance4 "maintenance4" Required None, Some(|s| &mut s.v13.maintenance4);
    TimelineSemaphore "timelineSemaphore" Required None, Some(|s| &mut s.v12.timeline_semaphore);
    PushDescriptor "VK_KHR_push_descriptor" Required Some(khr::push_descriptor::NAME), None;
    // What recompiled shaders take for granted.
    BufferDeviceAddress "bufferDeviceAddress" Required None, Some(|s| &mut s.v12.buffer_device_address);
    RobustBufferAccess "robustBufferAccess" Required None, Some(|s| &mut s.core.robust_buffer_access);
    RobustBufferAccess2 "robustBufferAccess2" Required ROBUSTNESS2, Some(|s| &mut s.robustness2.robust_buffer_access2);
    NullDescriptor "nullDescriptor" Required ROBUSTNESS2, Some(|s| &mut s.robustness2.null_descriptor);
    FragmentStoresAndAtomics "fragmentStoresAndAtomics" Required None, Some(|s| &mut s.core.fragment_stores_and_atomics);
    VertexPipelineStoresAndAtomics "vertexPipelineStoresAndAtomics" Required None, Some(|s| &mut s.core.vertex_pipeline_stores_and_atomics);
    ShaderDrawParameters "shaderDrawParameters" Required None, Some(|s| &mut s.v11.shader_draw_parameters);
    IndependentBlend "independentBlend" Required None, Some(|s| &mut s.core.independent_blend);
    // Shader arithmetic.
    ShaderInt64 "shaderInt64" Optional None, Some(|s| &mut s.core.shader_int64);
    ShaderFloat64 "shaderFloat64" Optional None, Some(|s| &mut s.core.shader_float64);
    ShaderInt16 "shaderInt16" Optional None, Some(|s| &mut s.core.shader_int16);
    ShaderFloat16 "shaderFloat16" Optional None, Some(|s| &mut s.v12.shader_float16);
    ShaderInt8 "shaderInt8" Optional None, Some(|s| &mut s.v12.shader_int8);
    ShaderBufferInt64Atomics "shaderBufferInt64Atomics" Optional None, Some(|s| &mut s.v12.shader_buffer_int64_atomics);
    ShaderSharedInt64Atomics "shaderSharedInt64Atomics" Optional None, Some(|s| &mut s.v12.shader_shared_int64_atomics);
    ShaderIntegerDotProduct "shaderIntegerDotProduct" Optional None, Some(|s| &mut s.v13.shader_integer_dot_product);
    ShaderDemoteToHelperInvocation "shaderDemoteToHelperInvocation" Optional None, Some(|s| &mut s.v13.shader_demote_to_helper_invocation);
    ShaderTerminateInvocation "shaderTerminateInvocation" Optional None, Some(|s| &mut s.v13.shader_terminate_invocation);
    ShaderZeroInitializeWorkgroupMemory "shaderZeroInitializeWorkgroupMemory" Optional None, Some(|s| &mut s.v13.shader_zero_initialize_workgroup_memory);
    VulkanMemoryModel "vulkanMemoryModel" Optional None, Some(|s| &mut s.v12.vulkan_memory_model);
    VulkanMemoryModelDeviceScope "vulkanMemoryModelDeviceScope" Optional None, Some(|s| &mut s.v12.vulkan_memory_model_device_scope);
    VariablePointersStorageBuffer "variablePointersStorageBuffer" Optional None, Some(|s| &mut s.v11.variable_pointers_storage_buffer);
    VariablePointers "variablePointers" Optional None, Some(|s| &mut s.v11.variable_pointers);
    SubgroupSizeControl "subgroupSizeControl" Optional None, Some(|s| &mut s.v13.subgroup_size_control);
    ComputeFullSubgroups "computeFullSubgroups" Optional None, Some(|s| &mut s.v13.compute_full_subgroups);
    ShaderSubgroupExtendedTypes "shaderSubgroupExtendedTypes" Optional None, Some(|s| &mut s.v12.shader_subgroup_extended_types);
    ScalarBlockLayout "scalarBlockLayout" Optional None, Some(|s| &mut s.v12.scalar_block_layout);
    UniformBufferStandardLayout "uniformBufferStandardLayout" Optional None, Some(|s| &mut s.v12.uniform_buffer_standard_layout);
    StorageBuffer16BitAccess "storageBuffer16BitAccess" Optional None, Some(|s| &mut s.v11.storage_buffer16_bit_access);
    UniformAndStorageBuffer16BitAccess "uniformAndStorageBuffer16BitAccess" Optional None, Some(|s| &mut s.v11.uniform_and_storage_buffer16_bit_access);
    StorageBuffer8BitAccess "storageBuffer8BitAccess" Optional None, Some(|s| &mut s.v12.storage_buffer8_bit_access);
    UniformAndStorageBuffer8BitAccess "uniformAndStorageBuffer8BitAccess" Optional None, Some(|s| &mut s.v12.uniform_and_storage_buffer8_bit_access);
    // Descriptors.
    DescriptorIndexing "descriptorIndexing" Optional None, Some(|s| &mut s.v12.descriptor_indexing);
    RuntimeDescriptorArray "runtimeDescriptorArray" Optional None, Some(|s| &mut s.v12.runtime_descriptor_array);
    DescriptorBindingPartiallyBound "descriptorBindingPartiallyBound" Optional None, Some(|s| &mut s.v12.descriptor_binding_partially_bound);
    DescriptorBindingVariableDescriptorCount "descriptorBindingVariableDescriptorCount" Optional None, Some(|s| &mut s.v12.descriptor_binding_variable_descriptor_count);
    ShaderSampledImageArrayNonUniformIndexing "shaderSampledImageArrayNonUniformIndexing" Optional None, Some(|s| &mut s.v12.shader_sampled_image_array_non_uniform_indexing);
    ShaderStorageBufferArrayNonUniformIndexing "shaderStorageBufferArrayNonUniformIndexing" Optional None, Some(|s| &mut s.v12.shader_storage_buffer_array_non_uniform_indexing);
    ShaderUniformBufferArrayDynamicIndexing "shaderUniformBufferArrayDynamicIndexing" Optional None, Some(|s| &mut s.core.shader_uniform_buffer_array_dynamic_indexing);
    ShaderSampledImageArrayDynamicIndexing "shaderSampledImageArrayDynamicIndexing" Optional None, Some(|s| &mut s.core.shader_sampled_image_array_dynamic_indexing);
    ShaderStorageBufferArrayDynamicIndexing "shaderStorageBufferArrayDynamicIndexing" Optional None, Some(|s| &mut s.core.shader_storage_buffer_array_dynamic_indexing);
    ShaderStorageImageArrayDynamicIndexing "shaderStorageImageArrayDynamicIndexing" Optional None, Some(|s| &mut s.core.shader_storage_image_array_dynamic_indexing);
    // Images and samplers.
    RobustImageAccess "robustImageAccess" Optional None, Some(|s| &mut s.v13.robust_image_access);
    RobustImageAccess2 "robustImageAccess2" Optional ROBUSTNESS2, Some(|s| &mut s.robustness2.robust_image_access2);
    ShaderStorageImageReadWithoutFormat "shaderStorageImageReadWithoutFormat" Optional None, Some(|s| &mut s.core.shader_storage_image_read_without_format);
    ShaderStorageImageWriteWithoutFormat "shaderStorageImageWriteWithoutFormat" Optional None, Some(|s| &mut s.core.shader_storage_image_write_without_format);
    ShaderStorageImageExtendedFormats "shaderStorageImageExtendedFormats" Optional None, Some(|s| &mut s.core.shader_storage_image_extended_formats);
    ShaderStorageImageMultisample "shaderStorageImageMultisample" Optional None, Some(|s| &mut s.core.shader_storage_image_multisample);
    ShaderImageGatherExtended "shaderImageGatherExtended" Optional None, Some(|s| &mut s.core.shader_image_gather_extended);
    ImageCubeArray "imageCubeArray" Optional None, Some(|s| &mut s.core.image_cube_array);
    SamplerAnisotropy "samplerAnisotropy" Optional None, Some(|s| &mut s.core.sampler_anisotropy);
    SamplerFilterMinmax "samplerFilterMinmax" Optional None, Some(|s| &mut s.v12.sampler_filter_minmax);
    SamplerMirrorClampToEdge "samplerMirrorClampToEdge" Optional None, Some(|s| &mut s.v12.sampler_mirror_clamp_to_edge);
    TextureCompressionBc "textureCompressionBC" Optional None, Some(|s| &mut s.core.texture_compression_bc);
    CustomBorderColors "customBorderColors" Optional BORDER, Some(|s| &mut s.border.custom_border_colors);
    CustomBorderColorWithoutFormat "customBorderColorWithoutFormat" Optional BORDER, Some(|s| &mut s.border.custom_border_color_without_format);
    // Fixed function.
    GeometryShader "geometryShader" Optional None, Some(|s| &mut s.core.geometry_shader);
    TessellationShader "tessellationShader" Optional None, Some(|s| &mut s.core.tessellation_shader);
    SampleRateShading "sampleRateShading" Optional None, Some(|s| &mut s.core.sample_rate_shading);
    DualSrcBlend "dualSrcBlend" Optional None, Some(|s| &mut s.core.dual_src_blend);
    LogicOp "logicOp" Optional None, Some(|s| &mut s.core.logic_op);
    DepthClamp "depthClamp" Optional None, Some(|s| &mut s.core.depth_clamp);
    DepthBiasClamp "depthBiasClamp" Optional None, Some(|s| &mut s.core.depth_bias_clamp);
    DepthBounds "depthBounds" Optional None, Some(|s| &mut s.core.depth_bounds);
    FillModeNonSolid "fillModeNonSolid" Optional None, Some(|s| &mut s.core.fill_mode_non_solid);
    WideLines "wideLines" Optional None, Some(|s| &mut s.core.wide_lines);
    LargePoints "largePoints" Optional None, Some(|s| &mut s.core.large_points);
    MultiViewport "multiViewport" Optional None, Some(|s| &mut s.core.multi_viewport);
    ShaderClipDistance "shaderClipDistance" Optional None, Some(|s| &mut s.core.shader_clip_distance);
    ShaderCullDistance "shaderCullDistance" Optional None, Some(|s| &mut s.core.shader_cull_distance);
    ShaderOutputViewportIndex "shaderOutputViewportIndex" Optional None, Some(|s| &mut s.v12.shader_output_viewport_index);
    ShaderOutputLayer "shaderOutputLayer" Optional None, Some(|s| &mut s.v12.shader_output_layer);
    OcclusionQueryPrecise "occlusionQueryPrecise" Optional None, Some(|s| &mut s.core.occlusion_query_precise);
    FullDrawIndexUint32 "fullDrawIndexUint32" Optional None, Some(|s| &mut s.core.full_draw_index_uint32);
    MultiDrawIndirect "multiDrawIndirect" Optional None, Some(|s| &mut s.core.multi_draw_indirect);
    DrawIndirectFirstInstance "drawIndirectFirstInstance" Optional None, Some(|s| &mut s.core.draw_indirect_first_instance);
    DrawIndirectCount "drawIndirectCount" Optional None, Some(|s| &mut s.v12.draw_indirect_count);
    HostQueryReset "hostQueryReset" Optional None, Some(|s| &mut s.v12.host_query_reset);
    PipelineCreationCacheControl "pipelineCreationCacheControl" Optional None, Some(|s| &mut s.v13.pipeline_creation_cache_control);
    DepthClipEnable "depthClipEnable" Optional Some(ext::depth_clip_enable::NAME), Some(|s| &mut s.depth_clip_enable.depth_clip_enable);
    DepthClipControl "depthClipControl" Optional Some(ext::depth_clip_control::NAME), Some(|s| &mut s.depth_clip_control.depth_clip_control);
    PrimitiveTopologyListRestart "primitiveTopologyListRestart" Optional Some(ext::primitive_topology_list_restart::NAME), Some(|s| &mut s.restart.primitive_topology_list_restart);
    ProvokingVertexLast "provokingVertexLast" Optional Some(ext::provoking_vertex::NAME), Some(|s| &mut s.provoking.provoking_vertex_last);
    FragmentShaderBarycentric "fragmentShaderBarycentric" Optional Some(khr::fragment_shader_barycentric::NAME), Some(|s| &mut s.barycentric.fragment_shader_barycentric);
    ExtendedDynamicState2LogicOp "extendedDynamicState2LogicOp" Optional DYNAMIC2, Some(|s| &mut s.dynamic2.extended_dynamic_state2_logic_op);
    ExtendedDynamicState2PatchControlPoints "extendedDynamicState2PatchControlPoints" Optional DYNAMIC2, Some(|s| &mut s.dynamic2.extended_dynamic_state2_patch_control_points);
    ExtendedDynamicState3PolygonMode "extendedDynamicState3PolygonMode" Optional DYNAMIC3, Some(|s| &mut s.dynamic3.extended_dynamic_state3_polygon_mode);
    ExtendedDynamicState3DepthClampEnable "extendedDynamicState3DepthClampEnable" Optional DYNAMIC3, Some(|s| &mut s.dynamic3.extended_dynamic_state3_depth_clamp_enable);
    ExtendedDynamicState3ColorBlendEnable "extendedDynamicState3ColorBlendEnable" Optional DYNAMIC3, Some(|s| &mut s.dynamic3.extended_dynamic_state3_color_blend_enable);
    ExtendedDynamicState3ColorBlendEquation "extendedDynamicState3ColorBlendEquation" Optional DYNAMIC3, Some(|s| &mut s.dynamic3.extended_dynamic_state3_color_blend_equation);
    ExtendedDynamicState3ColorWriteMask "extendedDynamicState3ColorWriteMask" Optional DYNAMIC3, Some(|s| &mut s.dynamic3.extended_dynamic_state3_color_write_mask);
    ExtendedDynamicState3LogicOpEnable "extendedDynamicState3LogicOpEnable" Optional DYNAMIC3, Some(|s| &mut s.dynamic3.extended_dynamic_state3_logic_op_enable);
    GraphicsPipelineLibrary "graphicsPipelineLibrary" Optional Some(ext::graphics_pipeline_library::NAME), Some(|s| &mut s.library.graphics_pipeline_library);
    // The presence of an extension is all there is to ask.
    PipelineLibrary "VK_KHR_pipeline_library" Optional Some(khr::pipeline_library::NAME), None;
    ExternalMemoryHost "VK_EXT_external_memory_host" Optional Some(ext::external_memory_host::NAME), None;
    ShaderStencilExport "VK_EXT_shader_stencil_export" Optional Some(ext::shader_stencil_export::NAME), None;
    DepthRangeUnrestricted "VK_EXT_depth_range_unrestricted" Optional Some(ext::depth_range_unrestricted::NAME), None;
}

impl Feature {
    /// All features of the table, in its order.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.feature)
    }

    fn row(self) -> &'static FeatureRow {
        // The enum's values are the table's indices: one macro makes both.
        &TABLE[self as usize]
    }

    /// The feature's name in Vulkan.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Whether every device must have it.
    #[must_use]
    pub fn need(self) -> Need {
        self.row().need
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The features that are enabled on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EnabledFeatures(u128);

const _: () = assert!(TABLE.len() <= 128, "EnabledFeatures holds one bit for each row");

impl EnabledFeatures {
    /// Whether `feature` is enabled.
    #[must_use]
    pub fn contains(self, feature: Feature) -> bool {
        self.0 >> (feature as u8) & 1 == 1
    }

    pub(crate) fn insert(&mut self, feature: Feature) {
        self.0 |= 1 << (feature as u8);
    }

    /// The enabled features, in the table's order.
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::all().filter(move |feature| self.contains(*feature))
    }
}
