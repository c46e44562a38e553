//! DT_GNU_HASH: the table by which the OS loader finds a definition in a few steps, however many there are.

/// Bits that the second probe of the Bloom filter is shifted by. Any value works that reader and writer share.
const BLOOM_SHIFT: u32 = 26;

/// The hash of a name (Bernstein's, 33 × and add).
#[must_use]
pub fn hash(name: &str) -> u32 {
    name.bytes().fold(5381, |hash: u32, byte| {
        hash.wrapping_mul(33).wrapping_add(u32::from(byte))
    })
}

/// How many buckets a table of so many definitions has: about one for four, at least one.
#[must_use]
pub fn bucket_count(definitions: usize) -> u32 {
    u32::try_from(definitions / 4).unwrap_or(u32::MAX).max(1)
}

/// The table, as its words.
#[derive(Debug, PartialEq, Eq)]
pub struct GnuHash {
    /// Index of the first definition in the symbol table.
    first: u32,
    bloom: Vec<u64>,
    buckets: Vec<u32>,
    chains: Vec<u32>,
}

impl GnuHash {
    /// The table of definitions whose hashes are these, at consecutive symbol indices from `first`. The caller has
    /// sorted them by `hash % bucket_count`.
    pub(super) fn new(first: u32, hashes: &[u32]) -> Self {
        let count = bucket_count(hashes.len());
        // Eight bits for a definition keep false hits of the filter rare.
        let words = (hashes.len() / 8).next_power_of_two();
        let mut bloom = vec![0; words];
        let mut buckets = vec![0; count as usize];
        let mut chains = Vec::with_capacity(hashes.len());
        for (i, (hash, index)) in hashes.iter().zip(first..).enumerate() {
            bloom[*hash as usize / 64 % words] |= (1 << (hash % 64)) | (1 << ((hash >> BLOOM_SHIFT) % 64));
            let bucket = &mut buckets[(hash % count) as usize];
            if *bucket == 0 {
                *bucket = index;
            }
            // The lowest bit marks the end of a bucket's chain.
            let last = hashes.get(i + 1).is_none_or(|next| next % count != hash % count);
            chains.push(hash & !1 | u32::from(last));
        }
        Self {
            first,
            bloom,
            buckets,
            chains,
        }
    }

    /// The table's bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let head = [
            self.buckets.len() as u32,
            self.first,
            self.bloom.len() as u32,
            BLOOM_SHIFT,
        ];
        let mut bytes: Vec<u8> = head.into_iter().flat_map(u32::to_le_bytes).collect();
        bytes.extend(self.bloom.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(
            self.buckets
                .iter()
                .chain(&self.chains)
                .flat_map(|word| word.to_le_bytes()),
        );
        bytes
    }

    /// Their size.
    #[must_use]
    pub fn size(&self) -> u64 {
        16 + 8 * self.bloom.len() as u64 + 4 * (self.buckets.len() + self.chains.len()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks a hash up as a loader does.
    fn find(table: &GnuHash, hash: u32) -> Vec<u32> {
        let word = table.bloom[hash as usize / 64 % table.bloom.len()];
        if word >> (hash % 64) & 1 == 0 || word >> ((hash >> BLOOM_SHIFT) % 64) & 1 == 0 {
            return Vec::new();
        }
        let mut index = table.buckets[hash as usize % table.buckets.len()];
        let mut found = Vec::new();
        while index != 0 {
            let chain = table.chains[(index - table.first) as usize];
            if chain | 1 == hash | 1 {
                found.push(index);
            }
            if chain & 1 == 1 {
                break;
            }
            index += 1;
        }
        found
    }

    #[test]
    fn every_definition_is_found() {
        for count in [0, 1, 3, 4, 5, 64, 1000, 40_000] {
            let mut hashes: Vec<u32> = (0..count).map(|i| hash(&format!("definition {i}"))).collect();
            hashes.sort_by_key(|hash| hash % bucket_count(count));
            let table = GnuHash::new(7, &hashes);
            assert_eq!(table.bytes().len() as u64, table.size());
            for (index, &hash) in (7..).zip(&hashes) {
                assert!(find(&table, hash).contains(&index), "{count}: {index}");
            }
            assert!(find(&table, hash("not there")).is_empty());
            // A search looks at few others, however many there are.
            let ends = table.chains.iter().map(|chain| chain & 1 == 1);
            let mut length = 0;
            for end in ends {
                length += 1;
                assert!(length < 24, "{count}");
                if end {
                    length = 0;
                }
            }
        }
    }

    /// Values of the System V extension's published examples.
    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(hash(""), 0x1505);
        assert_eq!(hash("printf"), 0x156b_2bb8);
        assert_eq!(hash("exit"), 0x7c96_7e3f);
    }
}
