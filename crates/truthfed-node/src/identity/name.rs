//! Names of federations and members that go into certificates and name folders.

use truthfed::auction::ClientId;

/// Longest name: also the longest common name of a certificate.
const MAX_LEN: usize = 64;

/// A text is not a name for a federation or a member. Operator: choose another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a usable name: 1 to 64 letters, digits, `.`, `_` or `-`, a letter or a digit first")]
pub struct NameError(String);

/// The name, if it can stand in a certificate and be the name of a folder. Fails when it cannot.
pub fn check_name(name: &str) -> Result<ClientId, NameError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let starts_well = name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
    let wrong = || NameError(name.chars().take(MAX_LEN).collect());
    if !starts_well || name.len() > MAX_LEN || !name.bytes().all(allowed) {
        return Err(wrong());
    }
    name.parse().map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_plain_and_never_a_path() {
        for name in ["m1", "shop-7", "a.b_c", "7", &"x".repeat(64)] {
            assert_eq!(check_name(name).unwrap().as_str(), name);
        }
        for name in ["", ".", "..", ".hidden", "-x", "a/b", "a\\b", "a b", "Köln", "a\n", "a\0", &"x".repeat(65)] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
    }
}
