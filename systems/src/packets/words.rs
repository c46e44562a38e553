//! Reading payload words.

use relic_core::GuestAddress;
use relic_schedules::PacketRefusal;

/// Exactly `N` words.
pub(super) fn exactly<const N: usize>(payload: &[u32]) -> Result<[u32; N], PacketRefusal> {
    <[u32; N]>::try_from(payload)
        .map_err(|_| PacketRefusal(format!("it has {} payload words, not {N}", payload.len())))
}

/// The first `N` words, and the rest.
pub(super) fn at_least<const N: usize>(payload: &[u32]) -> Result<([u32; N], &[u32]), PacketRefusal> {
    match payload.split_first_chunk::<N>() {
        Some((first, rest)) => Ok((*first, rest)),
        None => Err(PacketRefusal(format!(
            "it has {} payload words and needs at least {N}",
            payload.len()
        ))),
    }
}

/// A guest address of 48 bits from its low and high words.
pub(super) const fn address(low: u32, high: u32) -> GuestAddress {
    GuestAddress(low as u64 | ((high & 0xFFFF) as u64) << 32)
}

/// Refuses bits that are set and not in `known`.
pub(super) fn known_bits(what: &str, value: u32, known: u32) -> Result<(), PacketRefusal> {
    if value & !known == 0 {
        Ok(())
    } else {
        Err(PacketRefusal(format!(
            "{what} {value:#010x} has bits {:#010x} that Relic does not execute",
            value & !known
        )))
    }
}
