//! The title's modules: loading, initialising once, looking names up, unloading.
//!
//! The relinker has left every module without anything that the OS loader would run, so that initialisers run here: for
//! the modules that the program needs in front of its entry point, for others when the program loads them. While one
//! initialises, its own thread may load it again and gets it as it is; other threads wait until it is done.

use std::{
    collections::HashMap,
    ffi::{CStr, CString, c_void},
    path::PathBuf,
    sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    thread::{self, ThreadId},
};

use relic_core::{
    Nid,
    program::{MODULE_MAGIC, MODULE_SYMBOL, ModuleRecord, ORIGIN_OFFSET, ORIGIN_SUFFIX},
};

use crate::{
    image::{Image, ImageError, Missing},
    libkernel::module::Module,
    log,
    mapped::Mapped,
    start,
};

/// A module's initialiser or finaliser: size and address of the arguments, and a third argument that is 0.
type Entry = extern "sysv64" fn(usize, u64, u64) -> i32;
/// A function of a list, to which the loader passes nothing.
type Plain = extern "sysv64" fn();

/// Why a module can't be loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ModuleError {
    #[error("module {path} can't be loaded: {reason}")]
    Load { path: &'static str, reason: String },
    #[error("module {path}: {source}")]
    Image { path: &'static str, source: ImageError },
    #[error("module {path} needs {} that nobody provides:{list}", start::data_objects(*count))]
    MissingData {
        path: &'static str,
        count: usize,
        list: String,
    },
}

/// The program and its list of modules.
struct Title {
    program: Image,
    /// The program's folder.
    folder: PathBuf,
}

static TITLE: OnceLock<Title> = OnceLock::new();
static LOADED: Mutex<Option<HashMap<Place, Loaded>>> = Mutex::new(None);
static CHANGED: Condvar = Condvar::new();

/// Index of a module in the program's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place(pub(crate) u32);

/// A module in memory.
struct Loaded {
    image: Image,
    /// The OS loader's handle.
    handle: Handle,
    state: State,
    /// How often the program has loaded it and not unloaded it; what the program needs from the start stays.
    references: usize,
}

#[derive(Clone, Copy)]
struct Handle(*mut c_void);
// SAFETY: the OS loader's handles belong to no thread.
unsafe impl Send for Handle {}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Bound, and nothing of it has run.
    Bound,
    /// This thread runs its initialisers.
    Initialising(ThreadId),
    /// Its initialiser has returned this.
    Ready(i32),
}

fn loaded() -> MutexGuard<'static, Option<HashMap<Place, Loaded>>> {
    LOADED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Title {
    fn record(&self, place: Place) -> Option<&'static ModuleRecord> {
        self.program.modules().get(place.0 as usize)
    }

    fn places(&self) -> impl DoubleEndedIterator<Item = Place> {
        (0..self.program.info().module_count).map(Place)
    }

    fn dependencies(&self, place: Place) -> impl Iterator<Item = Place> {
        let list = self
            .record(place)
            .map_or(&[][..], |record| self.program.dependencies(record));
        list.iter().map(|&index| Place(index))
    }
}

/// Notes the program, and binds the modules that the OS loader has loaded with it. Returns what each misses.
pub(crate) fn begin(program: Image) -> Result<Vec<Missing>, ModuleError> {
    let own = std::env::current_exe().unwrap_or_default();
    let title = TITLE.get_or_init(|| Title {
        program,
        folder: own.parent().map(PathBuf::from).unwrap_or_default(),
    });
    let mut missing = Vec::new();
    for place in title.places() {
        if title.record(place).is_some_and(|record| record.at_start != 0) {
            missing.push(load(title, place)?.unwrap_or_default());
        }
    }
    Ok(missing)
}

/// Loads a module into memory and binds its imports, and those of the modules that came with it. `None` where it is in
/// memory already. The caller says what is missing.
fn load(title: &Title, place: Place) -> Result<Option<Missing>, ModuleError> {
    let mut guard = loaded();
    let table = guard.get_or_insert_default();
    load_into(table, title, place)
}

fn load_into(
    table: &mut HashMap<Place, Loaded>,
    title: &Title,
    place: Place,
) -> Result<Option<Missing>, ModuleError> {
    let Some(record) = title.record(place).filter(|_| !table.contains_key(&place)) else {
        return Ok(None);
    };
    let mut missing = Missing::default();
    for needed in title.dependencies(place) {
        if let Some(more) = load_into(table, title, needed)? {
            missing.functions.extend(more.functions);
            missing.data.extend(more.data);
        }
    }
    let path = title.program.text(record.path);
    let (handle, image) = open(title, record, path)?;
    let image_error = |source| ModuleError::Image { path, source };
    image.register(path).map_err(image_error)?;
    let more = image.bind().map_err(image_error)?;
    missing.functions.extend(more.functions);
    missing.data.extend(more.data);
    let entry = Loaded {
        image,
        handle,
        state: State::Bound,
        references: usize::from(record.at_start != 0),
    };
    table.insert(place, entry);
    Ok(Some(missing))
}

/// Has the OS loader map a module, or finds it where it is mapped.
fn open(title: &Title, record: &ModuleRecord, path: &'static str) -> Result<(Handle, Image), ModuleError> {
    let refuse = |reason: String| ModuleError::Load { path, reason };
    let file = title.folder.join(title.program.text(record.file));
    let name = CString::new(file.into_os_string().into_encoded_bytes())
        .map_err(|error| refuse(error.to_string()))?;
    // SAFETY: a string. The module has no code that the loader would run.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(refuse(loader_error()));
    }
    let info = symbol(Handle(handle), MODULE_SYMBOL)
        .ok_or_else(|| refuse(format!("it does not export {MODULE_SYMBOL}: relink the program")))?;
    // SAFETY: what a module exports under this name, mapped until `unload`.
    let image = unsafe { Image::new(info.cast_const().cast(), MODULE_MAGIC, path) }
        .map_err(|source| ModuleError::Image { path, source })?;
    Ok((Handle(handle), image))
}

/// What the OS loader last complained about.
fn loader_error() -> String {
    // SAFETY: null or a string that lives until this thread's next call.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the OS loader does not say why".to_owned();
    }
    // SAFETY: not null.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

fn symbol(handle: Handle, name: &str) -> Option<*mut c_void> {
    let name = CString::new(name).ok()?;
    // SAFETY: a handle of the loader's, and a string.
    let address = unsafe { libc::dlsym(handle.0, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// Runs the initialisers of the modules that the program needs, in their order.
pub(crate) fn initialise_needed() {
    let Some(title) = TITLE.get() else { return };
    for place in title.places() {
        if title.record(place).is_some_and(|record| record.at_start != 0) {
            let result = initialise(title, place, 0, 0);
            if result != 0 {
                let path = title
                    .record(place)
                    .map_or("", |record| title.program.text(record.path));
                log::note(format_args!("the initialiser of {path} returned {result:#x}"));
            }
        }
    }
}

/// Runs a loaded module's initialisers unless they have run, those of what it needs first. Returns what the initialiser
/// returned.
fn initialise(title: &Title, place: Place, size: usize, arguments: u64) -> i32 {
    for needed in title.dependencies(place) {
        initialise(title, needed, 0, 0);
    }
    let own = thread::current().id();
    let mut guard = loaded();
    let image = loop {
        let Some(entry) = guard.as_mut().and_then(|table| table.get_mut(&place)) else {
            return 0;
        };
        match entry.state {
            State::Ready(result) => return result,
            // It loads itself: it gets itself as it is.
            State::Initialising(thread) if thread == own => return 0,
            State::Initialising(_) => {
                guard = CHANGED.wait(guard).unwrap_or_else(PoisonError::into_inner);
            }
            State::Bound => {
                entry.state = State::Initialising(own);
                break entry.image;
            }
        }
    };
    drop(guard);
    let lifecycle = &image.info().lifecycle;
    run_all(image.functions(lifecycle.early_initialisers, 0).iter());
    let result = image
        .optional(lifecycle.initialiser)
        .map_or(0, |address| entry_at(address)(size, arguments, 0));
    run_all(image.functions(lifecycle.initialisers, 1).iter());
    if let Some(entry) = loaded().as_mut().and_then(|table| table.get_mut(&place)) {
        entry.state = State::Ready(result);
    }
    CHANGED.notify_all();
    result
}

/// Runs a module's finalisers.
fn finalise(image: Image, size: usize, arguments: u64) -> i32 {
    let lifecycle = &image.info().lifecycle;
    run_all(image.functions(lifecycle.finalisers, 2).iter().rev());
    image
        .optional(lifecycle.finaliser)
        .map_or(0, |address| entry_at(address)(size, arguments, 0))
}

fn run_all<'a>(functions: impl Iterator<Item = &'a u64>) {
    // By custom, all ones and zero mark the ends of such a list.
    for &address in functions.filter(|address| ![0, u64::MAX].contains(*address)) {
        // SAFETY: the loader has relocated the module's own list of such functions.
        let function: Plain = unsafe { std::mem::transmute(address) };
        function();
    }
}

fn entry_at(address: u64) -> Entry {
    // SAFETY: what the module's dynamic table names as its initialiser or finaliser, in executable memory by the
    // relinker's check.
    unsafe { std::mem::transmute(address) }
}

/// Runs the finalisers of everything that is initialised, the last first. The process ends after this.
pub(crate) fn finalise_all() {
    let Some(title) = TITLE.get() else { return };
    for place in title.places().rev() {
        let entry = loaded().as_mut().and_then(|table| table.remove(&place));
        if let Some(entry) = entry
            && matches!(entry.state, State::Ready(_))
        {
            finalise(entry.image, 0, 0);
        }
    }
}

/// The listed module that a guest path means: the path below `/app0`, else the only one with its file name.
pub(crate) fn find(path: &str) -> Option<Place> {
    let title = TITLE.get()?;
    let path = path.replace('\\', "/").to_lowercase();
    let below = path.strip_prefix("/app0/").unwrap_or(&path);
    let paths = || {
        title.places().filter_map(|place| {
            Some((
                place,
                title.program.text(title.record(place)?.path).to_lowercase(),
            ))
        })
    };
    let exact = paths().find(|(_, known)| known == below);
    let file_name = |path: &str| path.rsplit('/').next().map(str::to_owned);
    let mut named = paths().filter(|(_, known)| file_name(known) == file_name(below));
    let by_name = match (named.next(), named.next()) {
        (Some(found), None) => Some(found),
        _ => None,
    };
    exact.or(by_name).map(|(place, _)| place)
}

/// The listed module with this name, without regard to its folder and what its file name ends in.
pub(crate) fn named(name: &str) -> Option<Place> {
    let title = TITLE.get()?;
    let stem = |path: &str| {
        let file_name = path.rsplit('/').next().unwrap_or(path);
        file_name.split('.').next().unwrap_or(file_name).to_lowercase()
    };
    let wanted = name.to_lowercase();
    title.places().find(|place| stem(file_name(*place)) == wanted)
}

/// A listed module's file name in the title.
pub(crate) fn file_name(place: Place) -> &'static str {
    let Some(title) = TITLE.get() else { return "" };
    let path = title
        .record(place)
        .map_or("", |record| title.program.text(record.path));
    path.rsplit('/').next().unwrap_or(path)
}

/// The program.
pub(crate) fn program() -> Option<Image> {
    TITLE.get().map(|title| title.program)
}

/// The modules in memory, in the order of the program's list.
pub(crate) fn loaded_places() -> Vec<Place> {
    let guard = loaded();
    let mut places: Vec<Place> = guard.iter().flat_map(HashMap::keys).copied().collect();
    places.sort_unstable();
    places
}

/// A module in memory, and how often it is in use.
pub(crate) fn loaded_image(place: Place) -> Option<(Image, usize)> {
    let guard = loaded();
    let entry = guard.as_ref()?.get(&place)?;
    Some((entry.image, entry.references))
}

/// Which of the title's objects a mapped file is.
pub(crate) fn around(mapped: &Mapped) -> Option<Module> {
    let tables = |image: Image| crate::pointer::address_of(image.info());
    let holds = |image: Image| {
        mapped
            .segments
            .iter()
            .any(|segment| segment.contains(tables(image)))
    };
    if program().is_some_and(holds) {
        return Some(Module::Program);
    }
    let guard = loaded();
    let mut entries = guard.iter().flatten();
    entries
        .find(|(_, entry)| holds(entry.image))
        .map(|(place, _)| Module::Title(*place))
}

/// Loads and initialises a module for the program. Returns what its initialiser returned.
pub(crate) fn load_and_start(place: Place, size: usize, arguments: u64) -> Result<i32, ModuleError> {
    let Some(title) = TITLE.get() else { return Ok(0) };
    if let Some(mut missing) = load(title, place)? {
        start::list_missing(&mut missing);
        if !missing.data.is_empty() {
            missing.data.sort();
            return Err(ModuleError::MissingData {
                path: title
                    .record(place)
                    .map_or("", |record| title.program.text(record.path)),
                count: missing.data.len(),
                list: missing.data.concat(),
            });
        }
    }
    if let Some(entry) = loaded().as_mut().and_then(|table| table.get_mut(&place)) {
        entry.references += 1;
    }
    Ok(initialise(title, place, size, arguments))
}

/// Gives one reference to a module back; with the last, its finalisers run and it is unmapped. Returns what the finaliser
/// returned, and `None` where the module is not loaded.
pub(crate) fn stop_and_unload(place: Place, size: usize, arguments: u64) -> Option<i32> {
    let entry = {
        let mut guard = loaded();
        let table = guard.as_mut()?;
        let entry = table.get_mut(&place)?;
        if entry.references > 1 || !matches!(entry.state, State::Ready(_)) {
            entry.references = entry.references.saturating_sub(1).max(1);
            return Some(0);
        }
        table.remove(&place)?
    };
    let result = finalise(entry.image, size, arguments);
    entry.image.unregister();
    // SAFETY: a handle of `open`; by the guest's word nothing of the module is used any more.
    unsafe { libc::dlclose(entry.handle.0) };
    Some(result)
}

/// Address of what a loaded module exports under a NID.
pub(crate) fn look_up(place: Place, nid: Nid) -> Option<u64> {
    let title = TITLE.get()?;
    let path = title.program.text(title.record(place)?.path);
    let file_name = path.rsplit('/').next().unwrap_or(path);
    let handle = loaded().as_ref()?.get(&place)?.handle;
    let name = format!("{nid}.{file_name}");
    let address = |name: &str| symbol(handle, name).map(|address| address.expose_provenance() as u64);
    address(&name)
        .or_else(|| address(&format!("{name}{ORIGIN_SUFFIX}")).map(|address| address - ORIGIN_OFFSET))
}
