//! Public keys, which verify signatures.

use std::fmt;

use ring::agreement::{ECDH_P256, EphemeralPrivateKey, agree_ephemeral};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};

use super::error::KeyError;
use super::id::KeyId;
use super::{pem as pem_text, spki};

const TAG: &str = "PUBLIC KEY";

/// A public key for ECDSA over P-256 with SHA-256. Its point is known to be on the curve.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    point: [u8; spki::POINT],
    id: KeyId,
}

impl PublicKey {
    /// Parses `-----BEGIN PUBLIC KEY-----`, as `openssl pkey -pubout` and cosign write it.
    ///
    /// # Errors
    /// [`KeyError`], which says what was found instead: another algorithm, a private key, a
    /// certificate.
    pub fn from_pem(text: &[u8]) -> Result<Self, KeyError> {
        Self::from_der(&pem_text::only(text, TAG)?)
    }

    /// Parses a SubjectPublicKeyInfo.
    ///
    /// # Errors
    /// Same as [`PublicKey::from_pem`].
    pub fn from_der(der: &[u8]) -> Result<Self, KeyError> {
        let point = spki::point(der)?;
        on_curve(&point)?;
        Ok(Self::of(point))
    }

    /// Returns the public key of a key pair that was already checked.
    pub(super) fn of(point: [u8; spki::POINT]) -> Self {
        Self { id: KeyId::of(&spki::encode(&point)), point }
    }

    /// Returns the ID of the key in envelopes.
    #[must_use]
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// Returns the DER form of the key (SubjectPublicKeyInfo).
    #[must_use]
    pub fn to_der(&self) -> Vec<u8> {
        spki::encode(&self.point)
    }

    /// Returns the PEM form of the key, with a line feed at the end.
    #[must_use]
    pub fn to_pem(&self) -> String {
        super::pem::lines(&pem::Pem::new(TAG, self.to_der()))
    }

    /// Returns whether `signature` (ASN.1 DER) is a signature of this key over `message`.
    #[must_use]
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.point).verify(message, signature).is_ok()
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.id)
    }
}

/// Checks that the point is on the curve, by a key agreement with a temporary key. Verification
/// rejects other points too, but would only report that the signature is wrong.
fn on_curve(point: &[u8; spki::POINT]) -> Result<(), KeyError> {
    let own = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).map_err(|_| KeyError::Random)?;
    let peer = ring::agreement::UnparsedPublicKey::new(&ECDH_P256, point);
    agree_ephemeral(own, &peer, |_| ()).map_err(|_| KeyError::Point)
}
