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
    /// Counts writes that changed the state of draws and dispatches: those with the same number share one copy of it.
    pub generation: u64,
    /// Hash of that state, whatever order it was written in. Wide enough to stand for the state itself.
    pub hash: u128,
}

impl RegisterBanks {
    /// What to XOR into the hash when a register of the state had `old` in it and has `new`.
    #[must_use]
    pub const fn difference(bank: RegisterBank, register: usize, old: u32, new: u32) -> u128 {
        let place = (bank.base() as usize + register) as u64;
        mix(place, old) ^ mix(place, new)
    }

    /// Banks that hold these values; `is_state` says which registers are state of draws and dispatches.
    #[must_use]
    pub fn with(
        context: Box<[u32; CONTEXT_REGISTERS]>,
        shader: Box<[u32; SHADER_REGISTERS]>,
        user_config: Box<[u32; USER_CONFIG_REGISTERS]>,
        is_state: impl Fn(RegisterBank, usize) -> bool,
    ) -> Self {
        let mut hash = 0;
        let banks = [
            (RegisterBank::Context, context.as_slice()),
            (RegisterBank::Shader, shader.as_slice()),
            (RegisterBank::UserConfig, user_config.as_slice()),
        ];
        for (bank, values) in banks {
            for (register, value) in values.iter().enumerate().filter(|(at, _)| is_state(bank, *at)) {
                hash ^= Self::difference(bank, register, 0, *value);
            }
        }
        Self {
            context,
            shader,
            user_config,
            generation: 1,
            hash,
        }
    }

    /// Changes context registers at large, and counts a new generation.
    pub fn change_context(&mut self, change: impl FnOnce(&mut Box<[u32; CONTEXT_REGISTERS]>)) {
        let old = self.context.clone();
        change(&mut self.context);
        for (register, (old, new)) in old.iter().zip(self.context.iter()).enumerate() {
            self.hash ^= Self::difference(RegisterBank::Context, register, *old, *new);
        }
        self.generation += 1;
    }

    /// Puts 0 in all shader and user-config registers.
    pub fn clear_others(&mut self) {
        self.shader.fill(0);
        self.user_config.fill(0);
        // What is left is the context.
        self.hash = 0;
        for (register, value) in self.context.iter().enumerate() {
            self.hash ^= Self::difference(RegisterBank::Context, register, 0, *value);
        }
        self.generation += 1;
    }
}

/// A number that looks random for each value in each place; 0 for the value that all begin with.
const fn mix(place: u64, value: u32) -> u128 {
    if value == 0 {
        return 0;
    }
    let input = place << 32 | value as u64;
    let first = fold(input ^ 0x2545_F491_4F6C_DD1D, 0x9E37_79B9_7F4A_7C15);
    let second = fold(first ^ input, 0xD6E8_FEB8_6659_FD93);
    (first as u128) << 64 | second as u128
}

/// Both halves of a product.
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

impl Default for RegisterBanks {
    fn default() -> Self {
        Self {
            context: Box::new([0; CONTEXT_REGISTERS]),
            shader: Box::new([0; SHADER_REGISTERS]),
            user_config: Box::new([0; USER_CONFIG_REGISTERS]),
            generation: 1,
            hash: 0,
        }
    }
}
