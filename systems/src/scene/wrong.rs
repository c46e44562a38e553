//! Pictures of images that came out wrong.

use super::script::ExpectedImage;
use crate::frame::picture::Picture;

/// What an image should have been, what it is, and where they differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrongPictures {
    /// As the scene expects it.
    pub expected: Picture,
    /// As it came out.
    pub got: Picture,
    /// Four times the difference of each component; at least dark grey where a texel differs at all.
    pub difference: Picture,
}

/// `VkFormat` numbers: R8G8B8A8_UNORM and _SRGB.
const RGBA8: [u32; 2] = [37, 43];
/// `VkFormat` numbers: R32_SFLOAT and D32_SFLOAT, shown as grey from 0 to 1.
const FLOAT: [u32; 2] = [100, 126];

impl WrongPictures {
    /// `None` for formats that are not shown: all but 8-bit RGBA and single floats.
    #[must_use]
    pub fn new(expected: &ExpectedImage, got: &[u8]) -> Option<Self> {
        let show = |bytes: &[u8]| -> Option<Vec<u8>> {
            let texels = bytes.as_chunks::<4>().0;
            if RGBA8.contains(&expected.format) {
                Some(texels.iter().flat_map(|[r, g, b, _]| [*r, *g, *b, 255]).collect())
            } else if FLOAT.contains(&expected.format) {
                Some(
                    texels
                        .iter()
                        .flat_map(|texel| {
                            let grey = (f32::from_le_bytes(*texel).clamp(0.0, 1.0) * 255.0) as u8;
                            [grey, grey, grey, 255]
                        })
                        .collect(),
                )
            } else {
                None
            }
        };
        let (wanted, found) = (show(&expected.bytes)?, show(got)?);
        let raw = expected
            .bytes
            .as_chunks::<4>()
            .0
            .iter()
            .zip(got.as_chunks::<4>().0);
        let difference = wanted
            .as_chunks::<4>()
            .0
            .iter()
            .zip(found.as_chunks::<4>().0)
            .zip(raw)
            .flat_map(|((a, b), (raw_a, raw_b))| {
                let least = if raw_a == raw_b { 0 } else { 64 };
                let part = |i: usize| a[i].abs_diff(b[i]).saturating_mul(4).max(least);
                [part(0), part(1), part(2), 255]
            })
            .collect();
        let picture = |rgba| Picture {
            width: expected.width,
            height: expected.height,
            rgba,
        };
        Some(Self {
            expected: picture(wanted),
            got: picture(found),
            difference: picture(difference),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::compare::Rule;
    use super::*;
    use relic_core::GuestAddress;

    #[test]
    fn differences_are_seen_however_small() {
        let mut expected = ExpectedImage {
            address: GuestAddress(0),
            format: 37,
            width: 3,
            height: 1,
            layer: 0,
            texel: 4,
            name: String::new(),
            rule: Rule::Exact { permille: 0 },
            bytes: vec![10, 20, 30, 40, 10, 20, 30, 40, 10, 20, 30, 40],
        };
        let got = [10, 20, 30, 40, 10, 50, 30, 40, 10, 20, 30, 41];
        let pictures = WrongPictures::new(&expected, &got).unwrap();
        assert_eq!(pictures.got.rgba[4..8], [10, 50, 30, 255]);
        assert_eq!(
            pictures.difference.rgba,
            [0, 0, 0, 255, 64, 120, 64, 255, 64, 64, 64, 255]
        );
        expected.format = 97;
        assert_eq!(WrongPictures::new(&expected, &got), None);
    }
}
