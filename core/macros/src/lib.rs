//! Attributes that export Rust items under the names by which the console's programs import them.
//!
//! A guest program imports `sceKernelUsleep` as `1jfXLRVzisc`, a hash of the name. [`macro@guest_fn`] computes that
//! hash while compiling, exports the function under it, and records library, name and state of completion in the
//! list `relic_libs::export::EXPORTS`, so that nothing has to be written down twice.

mod arguments;
mod export;
mod nid;

use proc_macro::TokenStream;

/// Exports a function of a guest library.
///
/// ```ignore
/// #[guest_fn(libkernel)]
/// pub extern "sysv64" fn sceKernelUsleep(microseconds: u32) -> SceResult { … }
/// ```
///
/// The arguments are the libraries that export it, then any of:
///
/// | argument | means |
/// | --- | --- |
/// | `name = "…"` | the guest's name, where it differs from the Rust function's |
/// | `nid = "…"` | the NID itself, for exports whose name nobody knows |
/// | `also = "…"` | one more name for the same function; may be repeated |
/// | `partial = "…"` | what is missing: `relic info` shows it |
///
/// The function must be `extern "sysv64"`: the guest calls it, and a panic in it ends the process instead of
/// unwinding into guest frames. Generic, async and const functions are refused.
#[proc_macro_attribute]
pub fn guest_fn(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let item = syn::parse_macro_input!(item as syn::ItemFn);
    syn::parse::<arguments::Arguments>(arguments)
        .and_then(|arguments| export::function(&arguments, &item))
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Exports a static of a guest library, as `#[guest_fn]` does a function. Same arguments, except that a datum has
/// one name only: two exported copies would be two different objects.
#[proc_macro_attribute]
pub fn guest_data(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let item = syn::parse_macro_input!(item as syn::ItemStatic);
    syn::parse::<arguments::Arguments>(arguments)
        .and_then(|arguments| export::datum(&arguments, &item))
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// The NID of a name, as a string literal: `nid!("printf")` is `"hcuQgD53UxM"`.
#[proc_macro]
pub fn nid(name: TokenStream) -> TokenStream {
    let name = syn::parse_macro_input!(name as syn::LitStr);
    let nid = nid::of(&name.value());
    quote::quote!(#nid).into()
}
