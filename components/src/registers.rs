//! The guest GPU's register banks.

use bevy_ecs::prelude::*;

/// One of the banks that packets write.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RegisterBank {
    /// Byte addresses from 0x28000.
    Context,
    /// Byte addresses from 0xB000.
    Shader,
    /// Byte addresses from 0x30000.
    UserConfig,
}

impl RegisterBank {
    /// Byte address of the bank's register 0.
    #[must_use]
    pub const fn base(self) -> u32 {
        match self {
            Self::Context => 0x28000,
            Self::Shader => 0xB000,
            Self::UserConfig => 0x30000,
        }
    }

    /// How many registers the bank holds.
    #[must_use]
    pub const fn count(self) -> usize {
        match self {
            Self::Context => CONTEXT_REGISTERS,
            Self::Shader => SHADER_REGISTERS,
            Self::UserConfig => USER_CONFIG_REGISTERS,
        }
    }
}

/// Registers of the context bank.
pub const CONTEXT_REGISTERS: usize = 0x400;
/// Registers of the shader bank.
pub const SHADER_REGISTERS: usize = 0x300;
/// Registers of the user-config bank.
pub const USER_CONFIG_REGISTERS: usize = 0x500;

/// A queue's registers. All are 0 at start; CLEAR_STATE and the console's queue reset put defaults in.
#[derive(Component, Clone)]
pub struct RegisterBanks {
    /// Context registers: state of draws.
    pub context: Box<[u32; CONTEXT_REGISTERS]>,
    /// Shader registers: programs, resources, user data, compute state.
    pub shader: Box<[u32; SHADER_REGISTERS]>,
    /// User-config registers: primitive type, index type, geometry engine.
    pub user_config: Box<[u32; USER_CONFIG_REGISTERS]>,
    /// Counts writes that changed a context or user-config register, or a shader register that is not user data:
    /// draws with the same number share one copy of the state.
    pub generation: u64,
}

impl Default for RegisterBanks {
    fn default() -> Self {
        Self {
            context: Box::new([0; CONTEXT_REGISTERS]),
            shader: Box::new([0; SHADER_REGISTERS]),
            user_config: Box::new([0; USER_CONFIG_REGISTERS]),
            generation: 1,
        }
    }
}
