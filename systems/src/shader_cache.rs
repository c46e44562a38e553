//! What shaders became, kept on disk between runs: recompiled stages, and the driver's own pipeline cache.
//!
//! ```text
//! <folder>/stages.pack                 SPIR-V with its bindings, by a hash of all that it was made from
//!          pipelines-<device>.bin      what the driver wants to have again
//!          prebuilt/*.pack             packs of others: looked into first, and never written
//! ```
//!
//! The hash has the code, the registers that shape it, the device's abilities, the shapes of descriptors and the
//! recompiler's own sources: there is nothing to be told apart by date or version.

use std::{
    fmt::Write as _,
    fs,
    hash::{Hash, Hasher},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use bevy_ecs::prelude::*;
use relic_core::pack::{Key, Pack, PackError};
use relic_recompiler::{
    Artifact, Binding, Dialect, FINGERPRINT, FlatBlock, Profile, Program, Refusal, Specialization,
};
use relic_vulkan::Device;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{gpu::Gpu, prepare::pipelines::PipelineStore, shader_pool::ShaderPool};

/// Name of the pack in the cache's folder.
pub const STAGES: &str = "stages.pack";
/// Name of the folder with packs of others.
pub const PREBUILT: &str = "prebuilt";
/// The pack's kind of entry: another number for each change of [`StageModule`].
const STAGE: u32 = 1;
/// Bytes of a checksum.
const SUM: usize = 32;
/// The driver's cache is written again after so many new pipelines.
const STORE_EVERY: usize = 32;

/// What a pipeline needs to know of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageModule {
    /// SPIR-V words.
    pub spirv: Vec<u32>,
    /// Descriptor set 0.
    pub bindings: Vec<Binding>,
    /// The flat words.
    pub flat: FlatBlock,
    /// [`relic_recompiler::Interface::locations`].
    pub locations: u32,
    /// [`relic_recompiler::Interface::colour_outputs`].
    pub colour_outputs: u32,
}

impl From<Artifact> for StageModule {
    fn from(artifact: Artifact) -> Self {
        Self {
            locations: artifact.interface.locations,
            colour_outputs: artifact.interface.colour_outputs,
            spirv: artifact.spirv,
            bindings: artifact.bindings,
            flat: artifact.flat,
        }
    }
}

/// What a program's stages are found by, beside their shapes.
#[must_use]
pub fn program_key(code: &[u32], program: &Program, dialect: Dialect, profile: &Profile) -> Key {
    let mut hash = Sum(Sha256::new());
    FINGERPRINT.hash(&mut hash);
    let used = program.code_words().min(code.len());
    code[..used].hash(&mut hash);
    program.stage().hash(&mut hash);
    dialect.hash(&mut hash);
    profile.hash(&mut hash);
    hash.0.finalize().into()
}

/// Lets whatever can be hashed be hashed well.
struct Sum(Sha256);

impl Hasher for Sum {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Not used: the whole sum is.
    fn finish(&self) -> u64 {
        0
    }
}

/// See the module's text.
#[derive(Debug)]
pub struct ShaderCache {
    folder: PathBuf,
    prebuilt: Vec<Mutex<Pack>>,
    stages: Mutex<Pack>,
    found: AtomicU64,
    made: AtomicU64,
}

impl ShaderCache {
    /// Opens the cache of a folder, which is made where there is none. What other versions left there goes.
    ///
    /// # Errors
    /// When the folder can't be used.
    pub fn open(folder: &Path) -> Result<Self, PackError> {
        let refused = |source| PackError::Io {
            path: folder.to_owned(),
            source,
        };
        fs::create_dir_all(folder).map_err(refused)?;
        let path = folder.join(STAGES);
        let pack = match Pack::open(&path) {
            Err(PackError::Format { .. }) => {
                tracing::info!("{} is of another version, and is made anew", path.display());
                fs::remove_file(&path).map_err(refused)?;
                Pack::open(&path)?
            }
            pack => pack?,
        };
        let prebuilt = fs::read_dir(folder.join(PREBUILT))
            .into_iter()
            .flatten()
            .flatten();
        let mut prebuilt: Vec<PathBuf> = prebuilt
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "pack"))
            .collect();
        prebuilt.sort();
        let prebuilt = prebuilt.iter().filter_map(|path| {
            Pack::open_read_only(path)
                .inspect_err(|error| tracing::warn!("a prebuilt pack is not used: {error}"))
                .ok()
        });
        Ok(Self {
            folder: folder.to_owned(),
            prebuilt: prebuilt.map(Mutex::new).collect(),
            stages: Mutex::new(pack),
            found: AtomicU64::new(0),
            made: AtomicU64::new(0),
        })
    }

    /// Stages that were found, and that had to be made.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        (
            self.found.load(Ordering::Relaxed),
            self.made.load(Ordering::Relaxed),
        )
    }

    /// The stage of a program for a set of shapes.
    fn stage(
        &self,
        program: &Program,
        key: &Key,
        specialization: &Specialization,
    ) -> Result<StageModule, Refusal> {
        let mut hash = Sum(Sha256::new());
        hash.write(key);
        specialization.hash(&mut hash);
        let key: Key = hash.0.finalize().into();
        let kept = self.prebuilt.iter().chain([&self.stages]).find_map(|pack| {
            let kept = pack
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get(STAGE, &key);
            let kept = kept.inspect_err(|error| tracing::warn!("the shader cache can't be read: {error}"));
            postcard::from_bytes(&kept.ok()??).ok()
        });
        if let Some(stage) = kept {
            self.found.fetch_add(1, Ordering::Relaxed);
            return Ok(stage);
        }
        let stage = StageModule::from(program.specialise(specialization)?);
        self.made.fetch_add(1, Ordering::Relaxed);
        let kept = postcard::to_stdvec(&stage)
            .map_err(io::Error::other)
            .and_then(|bytes| {
                let mut stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
                stages.put(STAGE, &key, &bytes)
            });
        if let Err(error) = kept {
            tracing::warn!("a shader can't be kept: {error}");
        }
        Ok(stage)
    }

    fn pipelines_of(&self, device: &Device) -> PathBuf {
        let report = device.report();
        let mut name = format!(
            "pipelines-{:04x}-{:04x}-{:08x}-",
            report.vendor_id, report.device_id, report.driver_version
        );
        for byte in report.pipeline_cache_uuid {
            let _ = write!(name, "{byte:02x}");
        }
        self.folder.join(name).with_extension("bin")
    }

    /// Gives the driver what it had in an earlier run. Whatever is wrong with that costs time, nothing else.
    fn load_pipelines(&self, device: &Device) {
        let path = self.pipelines_of(device);
        let Ok(bytes) = fs::read(&path) else { return };
        let Some(data) = unsealed(&bytes) else {
            tracing::warn!("{} is damaged and is not used", path.display());
            return;
        };
        if let Err(error) = device.add_pipeline_cache(data) {
            tracing::warn!("{} is not used: {error}", path.display());
        }
    }

    fn store_pipelines(&self, device: &Device) {
        let path = self.pipelines_of(device);
        let stored = device
            .pipeline_cache()
            .map_err(io::Error::other)
            .and_then(|data| relic_core::file::replace(&path, &sealed(&data)));
        if let Err(error) = stored {
            tracing::warn!("{} can't be written: {error}", path.display());
        }
    }
}

/// Data behind their checksum.
fn sealed(data: &[u8]) -> Vec<u8> {
    let mut bytes = Sha256::digest(data).to_vec();
    bytes.extend_from_slice(data);
    bytes
}

/// The data, if they are those that were sealed.
fn unsealed(bytes: &[u8]) -> Option<&[u8]> {
    let (sum, data) = bytes.split_at_checked(SUM)?;
    (Sha256::digest(data)[..] == *sum).then_some(data)
}

/// The cache, where there is one.
#[derive(Clone, Default, Debug)]
pub struct Shaders(Option<Arc<ShaderCache>>);

impl Shaders {
    /// The cache of a folder, with the driver's pipelines loaded. One that can't be opened is done without.
    #[must_use]
    pub fn open(folder: Option<&Path>, device: &Device) -> Self {
        let cache = folder.and_then(|folder| {
            ShaderCache::open(folder)
                .inspect_err(|error| tracing::warn!("shaders are not kept between runs: {error}"))
                .ok()
        });
        if let Some(cache) = &cache {
            cache.load_pipelines(device);
        }
        Self(cache.map(Arc::new))
    }

    /// The stage of a program for a set of shapes.
    ///
    /// # Errors
    /// As [`Program::specialise`].
    pub fn stage(
        &self,
        program: &Program,
        key: &Key,
        specialization: &Specialization,
    ) -> Result<StageModule, Refusal> {
        match &self.0 {
            Some(cache) => cache.stage(program, key, specialization),
            None => program.specialise(specialization).map(StageModule::from),
        }
    }

    /// Stages that were found, and that had to be made.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        self.0.as_ref().map_or((0, 0), |cache| cache.counts())
    }
}

/// Stores the driver's pipelines now and then.
pub(crate) fn store_pipelines(gpu: Res<Gpu>, pool: Res<ShaderPool>, mut pipelines: ResMut<PipelineStore>) {
    if let Some(cache) = pipelines.shaders().0.clone()
        && pipelines.grown_by(STORE_EVERY)
    {
        let device = gpu.device.clone();
        pool.run(move || cache.store_pipelines(&device));
    }
}

/// At the end: stores them if there are new ones.
pub(crate) fn close_shaders(gpu: Res<Gpu>, mut pipelines: ResMut<PipelineStore>) {
    if let Some(cache) = pipelines.shaders().0.clone()
        && pipelines.grown_by(1)
    {
        cache.store_pipelines(&gpu.device);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_data_are_not_used() {
        let whole = sealed(b"pipelines");
        assert_eq!(unsealed(&whole), Some(&b"pipelines"[..]));
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            assert_eq!(unsealed(&bytes), None, "{at}");
            assert_eq!(unsealed(&whole[..at]), None, "{at}");
        }
    }
}
