//! Small libraries of the system: who plays, what the system wants, which modules are there.

mod sysmodule;
mod sysmodule_names;
mod system_service;
mod user_service;
