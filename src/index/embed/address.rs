//! Addresses on the network, as far as following one needs it.

/// The scheme and the host of an address, with the port.
pub(super) fn origin(url: &str) -> Option<&str> {
    let begin = url.find("://")? + 3;
    let end = url[begin..].find(['/', '?', '#']).map_or(url.len(), |end| begin + end);
    (end > begin).then(|| &url[..end])
}

/// Where a `Location` leads from an address. None where it is no address, or a way that others can read where the way
/// to it was one that they cannot.
pub(super) fn joined(from: &str, to: &str) -> Option<String> {
    let here = origin(from)?;
    let scheme = here.split("://").next()?;
    let whole = if to.contains("://") {
        to.to_owned()
    } else if to.starts_with("//") {
        format!("{scheme}:{to}")
    } else if to.starts_with('/') {
        format!("{here}{to}")
    } else {
        let path = from[here.len()..].split(['?', '#']).next().unwrap_or_default();
        let above = path.rfind('/').map_or("", |at| &path[..at]);
        format!("{here}{above}/{to}")
    };
    let safe = whole.starts_with("https://") || (scheme == "http" && whole.starts_with("http://"));
    (safe && origin(&whole).is_some()).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_an_address_leads() {
        let from = "https://hub.org:8443/a/b?c=/d";
        assert_eq!(origin(from), Some("https://hub.org:8443"));
        for (to, at) in [
            ("/x/y", Some("https://hub.org:8443/x/y")),
            ("x", Some("https://hub.org:8443/a/x")),
            ("//cdn.org/x", Some("https://cdn.org/x")),
            ("https://cdn.org/x?y", Some("https://cdn.org/x?y")),
            ("http://cdn.org/x", None),
            ("file:///etc/passwd", None),
            ("https://", None),
        ] {
            assert_eq!(joined(from, to).as_deref(), at, "{to}");
        }
        assert_eq!(joined("http://a", "b").as_deref(), Some("http://a/b"));
        assert_eq!(joined("http://a/b", "https://c").as_deref(), Some("https://c"));
        assert_eq!((origin("nothing"), origin("https:///x")), (None, None));
    }
}
