//! Small libraries of the system: who plays, what the system wants, what the title brings, which modules are
//! there.

mod app_content;
mod random;
mod sysmodule;
mod sysmodule_names;
mod system_service;
pub(crate) mod user_service;
