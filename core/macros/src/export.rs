//! What an attribute expands to.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Error, ItemFn, ItemStatic, spanned::Spanned};

use crate::{arguments::Arguments, nid};

/// A guest function under its NID, or under several, and the records.
pub(crate) fn function(arguments: &Arguments, item: &ItemFn) -> syn::Result<TokenStream> {
    let signature = &item.sig;
    match signature.abi.as_ref().and_then(|abi| abi.name.as_ref()) {
        Some(abi) if abi.value() == "sysv64" => {}
        Some(abi) => {
            return Err(Error::new(
                abi.span(),
                "the guest calls by the System V convention on every host: write `extern \"sysv64\"`",
            ));
        }
        None => {
            return Err(Error::new(
                signature.fn_token.span(),
                "the guest calls this: declare it `extern \"sysv64\" fn`",
            ));
        }
    }
    if let Some(word) = &signature.asyncness {
        return Err(Error::new(
            word.span(),
            "the guest can't await: a guest function is not async",
        ));
    }
    if !signature.generics.params.is_empty() {
        return Err(Error::new(
            signature.generics.span(),
            "a guest function is one symbol: it can't have generic parameters",
        ));
    }
    let rust_name = signature.ident.to_string();
    let first = Name::first(arguments, &rust_name);
    let names: Vec<Name> = std::iter::once(Ok(first))
        .chain(
            arguments
                .also
                .iter()
                .map(|name| Name::of(&name.value()).map_err(|reason| Error::new(name.span(), reason))),
        )
        .collect::<syn::Result<_>>()?;
    let function = &signature.ident;
    if is_naked(item) {
        let records = records(arguments, &names, &rust_name, &[]);
        let labels = names.iter().map(|name| label(&name.nid, function));
        return Ok(quote! {
            #item
            #(#labels)*
            #records
        });
    }
    let addresses: Vec<syn::Ident> = std::iter::once(function.clone())
        .chain((0..names.len() - 1).map(|i| format_ident!("__{}_as_{}", function, i)))
        .collect();
    let records = records(arguments, &names, &rust_name, &addresses);
    let nid = &names[0].nid;
    // A symbol has one name: every further one is a function that passes its arguments on.
    let parameters = parameters(item)?;
    let (inputs, output) = (&signature.inputs, &signature.output);
    let aliases = names[1..].iter().enumerate().map(|(i, name)| {
        let alias = format_ident!("__{}_as_{}", function, i);
        let nid = &name.nid;
        let (unsafety, call) = if signature.unsafety.is_some() {
            (
                quote!(unsafe),
                quote! {
                    // SAFETY: the same contract.
                    unsafe { #function(#(#parameters),*) }
                },
            )
        } else {
            (quote!(), quote!(#function(#(#parameters),*)))
        };
        quote! {
            #[doc(hidden)]
            #[unsafe(export_name = #nid)]
            #unsafety extern "sysv64" fn #alias(#inputs) #output {
                #call
            }
        }
    });
    Ok(quote! {
        #[unsafe(export_name = #nid)]
        #item
        #(#aliases)*
        #records
    })
}

/// The parameters' names.
fn parameters(item: &ItemFn) -> syn::Result<Vec<&syn::Ident>> {
    let name = |input| match input {
        &syn::FnArg::Typed(syn::PatType { ref pat, .. }) => match &**pat {
            syn::Pat::Ident(pattern) => Ok(&pattern.ident),
            other => Err(Error::new(
                other.span(),
                "give this parameter of a guest function a plain name",
            )),
        },
        syn::FnArg::Receiver(receiver) => Err(Error::new(
            receiver.span(),
            "a guest function is free-standing: it has no `self`",
        )),
    };
    item.sig.inputs.iter().map(name).collect()
}

fn is_naked(item: &ItemFn) -> bool {
    item.attrs.iter().any(|attribute| match &attribute.meta {
        syn::Meta::Path(path) => path.is_ident("naked"),
        syn::Meta::List(list) => list.path.is_ident("unsafe") && list.tokens.to_string() == "naked",
        syn::Meta::NameValue(_) => false,
    })
}

/// A global label that jumps to a naked function. The compiler spells the symbol of such a function in assembly without
/// quotes, and most NIDs need them; it also keeps symbols that it did not make from being exported, so the label is
/// listed in `core/libs/naked.map`.
fn label(nid: &str, function: &syn::Ident) -> TokenStream {
    let lines = [
        format!(".pushsection \".text.{nid}\",\"ax\",@progbits"),
        format!(".globl \"{nid}\""),
        format!(".type \"{nid}\",@function"),
        format!("\"{nid}\":"),
        "jmp {function}".to_owned(),
        format!(".size \"{nid}\", . - \"{nid}\""),
        ".popsection".to_owned(),
    ];
    quote!(::core::arch::global_asm!(#(#lines),*, function = sym #function);)
}

/// A guest datum: the static under its NID, and the record.
pub(crate) fn datum(arguments: &Arguments, item: &ItemStatic) -> syn::Result<TokenStream> {
    if let Some(also) = arguments.also.first() {
        return Err(Error::new(
            also.span(),
            "a datum has one name: a second export would be a second object",
        ));
    }
    let rust_name = item.ident.to_string();
    let name = Name::first(arguments, &rust_name);
    let nid = name.nid.clone();
    let records = records(arguments, &[name], &rust_name, &[]);
    Ok(quote! {
        #[unsafe(export_name = #nid)]
        #item
        #records
    })
}

/// One name an item is exported under.
struct Name {
    /// Empty where nobody knows it.
    text: String,
    nid: String,
}

impl Name {
    fn first(arguments: &Arguments, rust_name: &str) -> Self {
        let name = arguments.name.as_ref().map(syn::LitStr::value);
        match (&arguments.nid, name) {
            (Some(nid), name) => Self {
                text: name.unwrap_or_default(),
                nid: nid.value(),
            },
            (None, Some(text)) => Self {
                nid: nid::of(&text),
                text,
            },
            (None, None) => Self {
                nid: nid::of(rust_name),
                text: rust_name.to_owned(),
            },
        }
    }

    fn of(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("an empty name has no NID".to_owned());
        }
        Ok(Self {
            nid: nid::of(text),
            text: text.to_owned(),
        })
    }
}

/// The records of an item under its names. `functions` are what the names lead to, where they are functions of Rust's.
fn records(arguments: &Arguments, names: &[Name], rust_name: &str, functions: &[syn::Ident]) -> TokenStream {
    let status = match &arguments.partial {
        Some(reason) => quote!(crate::export::ExportStatus::Partial(#reason)),
        None => quote!(crate::export::ExportStatus::Implemented),
    };
    let records = arguments.libraries.iter().enumerate().flat_map(|(l, library)| {
        let library = library.to_string();
        let status = status.clone();
        names.iter().enumerate().map(move |(n, name)| {
            let record = format_ident!("__EXPORT_{}_{}_{}", rust_name, l, n);
            let (text, nid, status) = (&name.text, &name.nid, &status);
            let address = match functions.get(n) {
                Some(function) => quote!(#function as *const ()),
                None => quote!(::core::ptr::null()),
            };
            quote! {
                #[::linkme::distributed_slice(crate::export::EXPORTS)]
                static #record: crate::export::GuestExport = crate::export::GuestExport {
                    library: #library,
                    name: #text,
                    nid: #nid,
                    status: #status,
                    address: crate::export::Address(#address),
                };
            }
        })
    });
    quote!(#(#records)*)
}
