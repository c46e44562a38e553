//! What stands in the attribute's parentheses.

use proc_macro2::Span;
use syn::{
    Error, Ident, LitStr, Token,
    parse::{Parse, ParseStream},
};

/// Libraries and options of one export.
pub(crate) struct Arguments {
    pub(crate) libraries: Vec<Ident>,
    pub(crate) name: Option<LitStr>,
    pub(crate) nid: Option<LitStr>,
    pub(crate) also: Vec<LitStr>,
    pub(crate) partial: Option<LitStr>,
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut arguments = Self {
            libraries: Vec::new(),
            name: None,
            nid: None,
            also: Vec::new(),
            partial: None,
        };
        while !input.is_empty() {
            let word: Ident = input.parse()?;
            if input.parse::<Option<Token![=]>>()?.is_none() {
                arguments.libraries.push(word);
            } else {
                let value: LitStr = input.parse()?;
                arguments.set(&word, value)?;
            }
            if input.parse::<Option<Token![,]>>()?.is_none() && !input.is_empty() {
                return Err(input.error("expected `,` between the libraries and options of a guest export"));
            }
        }
        if arguments.libraries.is_empty() {
            return Err(Error::new(
                Span::call_site(),
                "which library exports this? Name it first, as in `#[guest_fn(libkernel)]`",
            ));
        }
        Ok(arguments)
    }
}

impl Arguments {
    fn set(&mut self, option: &Ident, value: LitStr) -> syn::Result<()> {
        let slot = match option.to_string().as_str() {
            "also" => {
                self.also.push(value);
                return Ok(());
            }
            "name" => &mut self.name,
            "nid" => {
                crate::nid::check(&value.value()).map_err(|reason| Error::new(value.span(), reason))?;
                &mut self.nid
            }
            "partial" => &mut self.partial,
            other => {
                return Err(Error::new(
                    option.span(),
                    format!("unknown option `{other}`: there are `name`, `nid`, `also` and `partial`"),
                ));
            }
        };
        if slot.replace(value).is_some() {
            return Err(Error::new(option.span(), format!("`{option}` is given twice")));
        }
        Ok(())
    }
}
