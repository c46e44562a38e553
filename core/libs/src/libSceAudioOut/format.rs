//! Formats of samples.

use super::AudioError;

/// How a port's samples lie in memory: interleaved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) channels: u8,
    /// Of 32 bits; else integers of 16.
    pub(super) is_float: bool,
}

/// By number; the last two have another order of channels.
const FORMATS: [Format; 8] = {
    const fn format(channels: u8, is_float: bool) -> Format {
        Format { channels, is_float }
    }
    [
        format(1, false),
        format(2, false),
        format(8, false),
        format(1, true),
        format(2, true),
        format(8, true),
        format(8, false),
        format(8, true),
    ]
};

impl Format {
    /// The format of a port's parameter: its low byte.
    pub(super) fn new(parameter: u32) -> Result<Self, AudioError> {
        let format = FORMATS.get((parameter & 0xff) as usize);
        format.copied().ok_or(AudioError::InvalidFormat)
    }

    pub(super) fn sample_bytes(self) -> usize {
        if self.is_float { 4 } else { 2 }
    }

    /// Bytes of one sample of every channel.
    pub(super) fn frame_bytes(self) -> usize {
        self.sample_bytes() * usize::from(self.channels)
    }

    /// Scales samples by their channels' volumes, of which 32768 is one.
    pub(super) fn scale(self, bytes: &mut [u8], volumes: &[i32; 8]) {
        let channels = usize::from(self.channels);
        for (i, sample) in bytes.chunks_exact_mut(self.sample_bytes()).enumerate() {
            let volume = volumes[i % channels];
            if let Ok(whole) = <[u8; 2]>::try_from(&*sample) {
                let scaled = i32::from(i16::from_le_bytes(whole)) * volume / 32768;
                sample.copy_from_slice(&(scaled as i16).to_le_bytes());
            } else if let Ok(whole) = <[u8; 4]>::try_from(&*sample) {
                let scaled = f32::from_le_bytes(whole) * volume as f32 / 32768.0;
                sample.copy_from_slice(&scaled.to_le_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_scaled_by_channel() {
        let stereo = Format::new(0x1_0001).unwrap();
        assert_eq!(stereo.frame_bytes(), 4);
        let mut bytes: Vec<u8> = [1000_i16, -1000, i16::MIN, 7]
            .into_iter()
            .flat_map(i16::to_le_bytes)
            .collect();
        let mut volumes = [32768; 8];
        volumes[0] = 16384;
        stereo.scale(&mut bytes, &volumes);
        let expected: Vec<u8> = [500_i16, -1000, -16384, 7]
            .into_iter()
            .flat_map(i16::to_le_bytes)
            .collect();
        assert_eq!(bytes, expected);
        let float = Format::new(5).unwrap();
        assert_eq!(float.frame_bytes(), 32);
        let mut bytes = 0.5_f32.to_le_bytes();
        float.scale(&mut bytes, &volumes);
        assert_eq!(f32::from_le_bytes(bytes), 0.25);
        assert_eq!(Format::new(8), Err(AudioError::InvalidFormat));
    }
}
