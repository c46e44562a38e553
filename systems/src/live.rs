//! The runtime behind a running guest program.

use std::sync::Arc;

use relic_components::EventSink;
use relic_core::GuestMemory;

use crate::{
    config::{BadVariable, Config},
    runtime::{self, RuntimeError, RuntimeHandle, RuntimeOptions},
};

/// What a guest program's runtime is started with.
pub struct LiveOptions {
    /// Guest memory.
    pub memory: Arc<GuestMemory>,
    /// Where events for the guest go.
    pub sink: Arc<dyn EventSink>,
}

/// Why it can't start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A `RELIC_*` variable is wrong.
    #[error(transparent)]
    Config(#[from] BadVariable),
    /// The runtime can't start.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
}

/// Starts the runtime with settings from the environment.
///
/// # Errors
/// [`StartError`].
pub fn start(options: LiveOptions) -> Result<RuntimeHandle, StartError> {
    let config = Config::from_environment()?;
    let options = RuntimeOptions {
        memory: options.memory,
        sink: options.sink,
        config,
        plugins: &|_| (),
    };
    Ok(runtime::start(options)?)
}
