//! Small libraries of the system: who plays, what the system wants, which modules are there.

mod sysmodule;
mod system_service;
mod user_service;
