//! Private keys, which create signatures.

use std::fmt;

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};

use super::error::KeyError;
use super::pem::{PRIVATE_TAG, lines};
use super::public::PublicKey;
use super::{pem as pem_text, spki};

/// A private key for ECDSA over P-256 with SHA-256.
pub struct PrivateKey {
    pair: EcdsaKeyPair,
    public: PublicKey,
}

impl PrivateKey {
    /// Generates a key, and returns it with its PEM form (PKCS#8, not encrypted). No other function
    /// exports the key.
    ///
    /// # Errors
    /// When the system's random number generator fails.
    pub fn generate() -> Result<(Self, String), KeyError> {
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new())
            .map_err(|_| KeyError::Random)?;
        let key = Self::from_der(document.as_ref())?;
        Ok((key, lines(&pem::Pem::new(PRIVATE_TAG, document.as_ref()))))
    }

    /// Parses `-----BEGIN PRIVATE KEY-----` (PKCS#8), as `openssl genpkey` writes it.
    ///
    /// # Errors
    /// [`KeyError`], which says what was found instead: an encrypted key, another algorithm,
    /// another form.
    pub fn from_pem(text: &[u8]) -> Result<Self, KeyError> {
        Self::from_der(&pem_text::only(text, PRIVATE_TAG)?)
    }

    fn from_der(der: &[u8]) -> Result<Self, KeyError> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, der, &SystemRandom::new()).map_err(
            |rejected| match spki::why(der) {
                KeyError::Broken(_) | KeyError::Compressed => KeyError::Broken(rejected.to_string()),
                other => other,
            },
        )?;
        let point = <[u8; spki::POINT]>::try_from(pair.public_key().as_ref()).map_err(|_| KeyError::Point)?;
        Ok(Self { pair, public: PublicKey::of(point) })
    }

    /// Returns the matching public key.
    #[must_use]
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Signs `message` and returns the signature in ASN.1 DER.
    ///
    /// # Errors
    /// When the system's random number generator fails.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let signature = self.pair.sign(&SystemRandom::new(), message).map_err(|_| KeyError::Random)?;
        Ok(signature.as_ref().to_vec())
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey(of {})", self.public.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_signs_and_comes_back_from_its_text() {
        let (key, text) = PrivateKey::generate().unwrap();
        let again = PrivateKey::from_pem(text.as_bytes()).unwrap();
        assert_eq!(again.public(), key.public());
        let public = PublicKey::from_pem(key.public().to_pem().as_bytes()).unwrap();
        assert_eq!(public.id(), key.public().id());
        let signature = again.sign(b"some text").unwrap();
        assert!(public.verifies(b"some text", &signature));
        assert!(!public.verifies(b"some test", &signature));
        assert!(!format!("{key:?}").contains("PRIVATE"));
    }

    #[test]
    fn a_point_beside_the_curve_is_no_key() {
        let (key, _) = PrivateKey::generate().unwrap();
        let mut der = key.public().to_der();
        *der.last_mut().unwrap() ^= 1;
        assert_eq!(PublicKey::from_der(&der), Err(KeyError::Point));
    }

    #[test]
    fn a_public_key_where_a_private_one_is_needed_and_the_other_way_round_are_named() {
        let (key, text) = PrivateKey::generate().unwrap();
        let error = PrivateKey::from_pem(key.public().to_pem().as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "it holds `PUBLIC KEY`, not `PRIVATE KEY`");
        let error = PublicKey::from_pem(text.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "it holds `PRIVATE KEY`, not `PUBLIC KEY`");
        assert!(matches!(PublicKey::from_pem(b"no key at all"), Err(KeyError::Pem(_))));
        assert!(matches!(PublicKey::from_pem(&vec![b'-'; 1 << 20]), Err(KeyError::TooLong(_))));
        let two = key.public().to_pem().repeat(2);
        assert_eq!(PublicKey::from_pem(two.as_bytes()), Err(KeyError::Many(2)));
    }
}
