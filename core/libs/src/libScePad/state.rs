//! A controller's state, as programs read it.

/// Buttons by the names that scripts use, and their bits.
pub(super) const BUTTONS: [(&str, u32); 16] = [
    ("l3", 0x2),
    ("r3", 0x4),
    ("options", 0x8),
    ("up", 0x10),
    ("right", 0x20),
    ("down", 0x40),
    ("left", 0x80),
    ("l2", 0x100),
    ("r2", 0x200),
    ("l1", 0x400),
    ("r1", 0x800),
    ("triangle", 0x1000),
    ("circle", 0x2000),
    ("cross", 0x4000),
    ("square", 0x8000),
    ("touchpad", 0x10_0000),
];

/// What is pressed and how far the sticks and triggers are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Input {
    pub(super) buttons: u32,
    /// Right and down are 255.
    pub(super) left: [u8; 2],
    pub(super) right: [u8; 2],
    /// L2 and R2; 255 is all the way.
    pub(super) triggers: [u8; 2],
}

/// Nothing pressed, sticks in the middle.
pub(super) const NEUTRAL: Input = Input {
    buttons: 0,
    left: [128; 2],
    right: [128; 2],
    triggers: [0; 2],
};

/// `ScePadData`: 120 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct PadData {
    buttons: u32,
    left: [u8; 2],
    right: [u8; 2],
    triggers: [u8; 2],
    padding: [u8; 2],
    /// A quaternion.
    orientation: [f32; 4],
    /// In g.
    acceleration: [f32; 3],
    /// In radians a second.
    angular_velocity: [f32; 3],
    touches: [u8; 24],
    connected: bool,
    /// In microseconds.
    timestamp: u64,
    extension: [u8; 16],
    connections: u8,
    reserved: [u8; 2],
    unique_data_length: u8,
    unique_data: [u8; 12],
}

impl PadData {
    /// The state of a connected controller that lies on a table.
    pub(super) fn new(input: &Input, timestamp: u64) -> Self {
        Self {
            buttons: input.buttons,
            left: input.left,
            right: input.right,
            triggers: input.triggers,
            padding: [0; 2],
            orientation: [0.0, 0.0, 0.0, 1.0],
            acceleration: [0.0, 1.0, 0.0],
            angular_velocity: [0.0; 3],
            touches: [0; 24],
            connected: true,
            timestamp,
            extension: [0; 16],
            connections: 1,
            reserved: [0; 2],
            unique_data_length: 0,
            unique_data: [0; 12],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_record_has_the_consoles_layout() {
        assert_eq!(size_of::<PadData>(), 120);
        assert_eq!(offset_of!(PadData, orientation), 12);
        assert_eq!(offset_of!(PadData, touches), 52);
        assert_eq!(offset_of!(PadData, connected), 76);
        assert_eq!(offset_of!(PadData, timestamp), 80);
        assert_eq!(offset_of!(PadData, connections), 104);
        assert_eq!(offset_of!(PadData, unique_data), 108);
    }
}
