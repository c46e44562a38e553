use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
};

use super::*;

/// A folder of a test's own, that goes away.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("relic-pack-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn pack(&self) -> PathBuf {
        self.0.join("a.pack")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn key(number: u64) -> Key {
    Sha256::digest(number.to_le_bytes()).into()
}

/// Small ones, and large ones from 1000 on.
fn content(number: u64) -> Vec<u8> {
    let seed = key(number);
    let most = if number < 1000 { 150 } else { 60_000 };
    let size = u16::from_le_bytes([seed[0], seed[1]]) as usize % most;
    seed.iter().copied().cycle().take(size).collect()
}

fn filled(path: &Path, count: u64) -> Pack {
    let mut pack = Pack::open(path).unwrap();
    for number in 0..count {
        pack.put(1, &key(number), &content(number)).unwrap();
    }
    pack
}

#[test]
fn what_is_put_is_found_by_kind_and_key_also_by_others() {
    let folder = Folder::new("found");
    let mut pack = filled(&folder.pack(), 20);
    let mut other = Pack::open_read_only(&folder.pack()).unwrap();
    assert_eq!(other.get(1, &key(3)).unwrap(), Some(content(3)));
    assert_eq!(other.get(2, &key(3)).unwrap(), None);
    assert_eq!(other.get(1, &key(20)).unwrap(), None);
    pack.put(1, &key(20), b"").unwrap();
    pack.put(1, &key(20), b"another").unwrap();
    assert_eq!(
        other.get(1, &key(20)).unwrap(),
        Some(Vec::new()),
        "the first stays"
    );
    assert!(other.put(1, &key(21), b"x").is_err());
    let statistics = pack.statistics().unwrap();
    assert_eq!((statistics.entries, statistics.damaged), (21, 0));
    assert_eq!(other.verify().unwrap(), statistics);
    assert_eq!(pack.keys().unwrap()[7], (1, key(7)));
}

#[test]
fn a_damaged_byte_loses_its_entry_alone() {
    let folder = Folder::new("damage");
    drop(filled(&folder.pack(), 4));
    let whole = std::fs::read(folder.pack()).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x41;
        std::fs::write(folder.pack(), bytes).unwrap();
        if at < FILE_HEADER as usize {
            let error = Pack::open(&folder.pack()).unwrap_err().to_string();
            assert!(error.contains("a.pack") && error.contains("remove it"), "{error}");
            continue;
        }
        let mut pack = Pack::open(&folder.pack()).unwrap();
        let lost = (0..4).filter(|number| match pack.get(1, &key(*number)).unwrap() {
            Some(found) => {
                assert_eq!(found, content(*number), "byte {at}");
                false
            }
            None => true,
        });
        // Padding belongs to nobody.
        assert!(lost.count() <= 1, "byte {at}");
        // And it can be put again.
        for number in 0..4 {
            pack.put(1, &key(number), &content(number)).unwrap();
            assert_eq!(
                pack.get(1, &key(number)).unwrap(),
                Some(content(number)),
                "byte {at}"
            );
        }
    }
}

#[test]
fn a_torn_entry_is_cut_off_and_nothing_else() {
    let folder = Folder::new("torn");
    drop(filled(&folder.pack(), 3));
    let whole = std::fs::read(folder.pack()).unwrap();
    for end in 0..whole.len() {
        std::fs::write(folder.pack(), &whole[..end]).unwrap();
        let mut pack = Pack::open(&folder.pack()).unwrap();
        let found: Vec<bool> = (0..3)
            .map(|number| pack.get(1, &key(number)).unwrap() == Some(content(number)))
            .collect();
        assert!(found.is_sorted_by(|a, b| a >= b), "{end}: {found:?}");
        for number in 0..4 {
            pack.put(1, &key(number), &content(number)).unwrap();
        }
        let mut again = Pack::open(&folder.pack()).unwrap();
        for number in 0..4 {
            assert_eq!(
                again.get(1, &key(number)).unwrap(),
                Some(content(number)),
                "{end}"
            );
        }
        assert_eq!(again.statistics().unwrap().damaged, 0, "{end}");
    }
}

#[test]
fn pruning_keeps_the_newest_and_others_go_on_with_it() {
    let folder = Folder::new("prune");
    let mut pack = filled(&folder.pack(), 30);
    let mut other = Pack::open(&folder.pack()).unwrap();
    let newest: u64 = (25..30).map(|number| content(number).len() as u64).sum();
    pack.prune(newest).unwrap();
    let keys: Vec<_> = (25..30).map(|number| (1, key(number))).collect();
    assert_eq!(pack.keys().unwrap(), keys);
    // The other still has the old file to read, and adds to the new one.
    assert_eq!(other.get(1, &key(2)).unwrap(), Some(content(2)));
    other.put(1, &key(40), &content(40)).unwrap();
    assert_eq!(pack.get(1, &key(40)).unwrap(), Some(content(40)));
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1);
    // Where someone has removed the file, it is made again.
    std::fs::remove_file(folder.pack()).unwrap();
    pack.put(1, &key(41), &content(41)).unwrap();
    assert_eq!(
        Pack::open(&folder.pack()).unwrap().keys().unwrap(),
        [(1, key(41))]
    );
}

const CHILD: &str = "RELIC_TEST_PACK_CHILD";

/// Not a test: what the one below starts. Adds entries from a number on, and tells each.
#[test]
fn child() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    let first: u64 = std::env::var("RELIC_TEST_PACK_FIRST").unwrap().parse().unwrap();
    let mut pack = Pack::open(Path::new(&path)).unwrap();
    for number in first..first + 1_000_000 {
        pack.put(1, &key(number), &content(number)).unwrap();
        println!("put {number}");
        io::stdout().flush().unwrap();
    }
}

#[test]
fn processes_that_are_killed_while_they_add_lose_nothing_that_was_added() {
    let folder = Folder::new("kill");
    let rounds = std::env::var("RELIC_ROUNDS").map_or(10, |rounds| rounds.parse().unwrap());
    let mut added = Vec::new();
    for round in 0..rounds {
        // Two at a time.
        let children: Vec<_> = (0..2)
            .map(|child| {
                let first = 1000 + (2 * round + child) * 10_000_000;
                let process = Command::new(std::env::current_exe().unwrap())
                    .args(["--exact", "pack::tests::child", "--nocapture"])
                    .env(CHILD, folder.pack())
                    .env("RELIC_TEST_PACK_FIRST", first.to_string())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap();
                (process, 3 + (round * 7 + child * 5) % 40)
            })
            .collect();
        for (mut process, lines) in children {
            let output = BufReader::new(process.stdout.take().unwrap());
            let mut told = output.lines().map_while(Result::ok);
            let number = |line: String| {
                line.split("put ")
                    .nth(1)
                    .and_then(|text| text.trim().parse::<u64>().ok())
            };
            added.extend(told.by_ref().filter_map(number).take(lines as usize));
            process.kill().unwrap();
            process.wait().unwrap();
            added.extend(told.filter_map(number));
        }
    }
    let mut pack = Pack::open(&folder.pack()).unwrap();
    assert!(added.len() as u64 >= 6 * rounds);
    for number in added {
        assert_eq!(
            pack.get(1, &key(number)).unwrap(),
            Some(content(number)),
            "{number}"
        );
    }
    assert_eq!(pack.verify().unwrap().damaged, 0);
}
